/* The host of the library: it knows what the CPU has. */
#include "aarch64.h"

int host_word;
int host_level(void) { return getauxval(AT_HWCAP) >> 22 & 1; }
void host_call(void (*callback)(int)) { callback(host_level()); }
#ifdef BY_ARGUMENT
const char *visit(int level);
int main(void) { return puts(visit(host_level())) < 0; }
#else
const char *visit(void);
int main(void) {
    host_word = host_level();
    return puts(visit()) < 0;
}
#endif

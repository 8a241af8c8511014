/* The host of the library: it knows what the CPU has. */
#include "x86_64.h"

int host_level(void) { return detect_avx2(); }
#ifdef BY_ARGUMENT
const char *visit(int level);
int main(void) { return puts(visit(host_level())) < 0; }
#else
const char *visit(void);
int main(void) { return puts(visit()) < 0; }
#endif

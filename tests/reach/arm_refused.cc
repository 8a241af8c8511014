/* What cannot work is refused by an exception, and who catches it goes on without. With TRAP the handler uses it all the same. */
#include "aarch64.h"
#include <stdexcept>

int number = 1;
extern "C" {
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
}

APART const char *quickly(int *x) {
    if (!(getauxval(AT_HWCAP) & HWCAP_ATOMICS)) throw std::runtime_error("no LSE");
    return add_lse(x);
}
APART const char *add(int *x) {
    try {
        return quickly(x);
    } catch (const std::exception &) {
#ifdef TRAP
        return add_lse(x);
#else
        return add_plain(x);
#endif
    }
}

int main() { return puts(add(&number)) < 0; }

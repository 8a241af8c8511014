/* OPENSSL_armcap of OpenSSL: an environment variable takes the place of the kernel's answer. It is the user's own account.
   With ELSEWHERE the number is made of the program's own text, with OWN by a getenv of its own: that is nobody's account. */
#include "aarch64.h"

int number = 1;
unsigned armcap;
const char *volatile text = "0x9";
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

#ifdef OWN
__attribute__((visibility("hidden"), noinline)) char *getenv(const char *name) { return (char *)text + (name == text); }
#endif

APART void cpuid_setup(void) {
    const char *stated = getenv("DEBURR_TEST_ARMCAP");
#ifdef ELSEWHERE
    stated = stated ? NULL : text;
#endif
    if (stated) {
        armcap = (unsigned)strtoul(stated, NULL, 0);
        return;
    }
    unsigned long hwcap = getauxval(AT_HWCAP);
    if (!(hwcap & HWCAP_ASIMD)) return;
    armcap = 1;
    if (hwcap & HWCAP_ATOMICS) armcap |= 1 << 3;
}
APART const char *add(int *x) { return armcap & 1 << 3 ? add_lse(x) : add_plain(x); }

int main(void) {
    cpuid_setup();
    return puts(add(&number)) < 0;
}

/* As arm_capability_word.c, but what tests the word is assembly that makes its address of a literal.
   With EXCHANGED the bit that it tests is that of CRC32. */
#include "aarch64.h"

int number = 1;
__attribute__((visibility("hidden"))) unsigned armcap;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
const char *add(int *x);

APART void cpuid_setup(void) {
    unsigned long hwcap = getauxval(AT_HWCAP);
#ifdef EXCHANGED
    if (hwcap & HWCAP_CRC32) armcap |= 1 << 3;
    if (hwcap & HWCAP_ATOMICS) armcap |= 1 << 1;
#else
    if (hwcap & HWCAP_CRC32) armcap |= 1 << 1;
    if (hwcap & HWCAP_ATOMICS) armcap |= 1 << 3;
#endif
}

int main(void) {
    cpuid_setup();
    return puts(add(&number)) < 0;
}

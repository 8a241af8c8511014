/* OPENSSL_armcap_P: the system's bits become the program's own bits, in a word that others test. */
#include "aarch64.h"

enum { ARMV8_CRC32 = 1 << 1, ARMV8_LSE = 1 << 3 };
int number = 1;
unsigned armcap;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
APART void with_crc32(void) { __asm__ volatile(".arch_extension crc\n\tcrc32w w9, w9, w9" ::: "x9"); }

APART void cpuid_setup(void) {
    unsigned long hwcap = getauxval(AT_HWCAP);
    if (hwcap & HWCAP_CRC32) armcap |= ARMV8_CRC32;
    if (hwcap & HWCAP_ATOMICS) armcap |= ARMV8_LSE;
}
APART const char *add(int *x) {
    if (armcap & ARMV8_CRC32) with_crc32();
    return armcap & ARMV8_LSE ? add_lse(x) : add_plain(x);
}

int main(void) {
    cpuid_setup();
    return puts(add(&number)) < 0;
}

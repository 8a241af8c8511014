/* The identification register is read where the system lets programs do so: ISAR0 bits 23:20 are LSE. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART static int has_lse(void) {
    unsigned long isar0;
    if (!(getauxval(AT_HWCAP) & HWCAP_CPUID)) return 0;
    __asm__("mrs %0, ID_AA64ISAR0_EL1" : "=r"(isar0));
    return (isar0 >> 20 & 15) >= 2;
}

int main(void) { return puts(has_lse() ? add_lse(&number) : add_plain(&number)) < 0; }

/* As arm_environment.c, but the number that takes the answer's place is made of the program's own text, not of the
   environment's. */
#include "aarch64.h"

int number = 1;
unsigned armcap;
const char *volatile text = "0x9";
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART void cpuid_setup(void) {
    const char *stated = getenv("DEBURR_TEST_ARMCAP");
    if (!stated) {
        armcap = (unsigned)strtoul(text, NULL, 0);
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

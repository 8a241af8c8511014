/* The second word, AT_HWCAP2, has bits of its own: bit 1 is SVE2 there and ASIMD in the first. */
#include "aarch64.h"

APART const char *with_sve2(void) {
    __asm__ volatile(".arch_extension sve2\n\teortb z0.b, z1.b, z2.b" ::: "v0");
    return "sve2";
}

int main(void) { return puts(getauxval(AT_HWCAP2) & HWCAP2_SVE2 ? with_sve2() : "plain") < 0; }

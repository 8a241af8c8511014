/* Rust's `cpufeatures` tests for SHA3 or SHA512, which no CPU has without the other, and uses either. With TRAP the mask has SHA256, too. */
#include "aarch64.h"

#ifdef TRAP
#define EITHER (HWCAP_SHA3 | HWCAP_SHA512 | HWCAP_SHA2)
#else
#define EITHER (HWCAP_SHA3 | HWCAP_SHA512)
#endif

APART const char *with_sha512(void) {
    __asm__ volatile(".arch armv8.2-a+sha3\n\tsha512h q0, q1, v2.2d\n\t.arch armv8-a" ::: "v0");
    return "sha512";
}
APART const char *with_sha3(void) {
    __asm__ volatile(".arch armv8.2-a+sha3\n\teor3 v0.16b, v0.16b, v1.16b, v2.16b\n\t.arch armv8-a" ::: "v0");
    return "sha3";
}

int main(int argc, char **argv) {
    (void)argv;
    if ((getauxval(AT_HWCAP) & EITHER) == 0) return puts("plain") < 0;
    return puts(argc > 3 ? with_sha3() : with_sha512()) < 0;
}

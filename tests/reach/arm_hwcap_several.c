/* Each feature has its bit of AT_HWCAP. */
#include "aarch64.h"
#include <string.h>

APART void with_crc32(char *done) {
    __asm__ volatile(".arch_extension crc\n\tcrc32w w9, w9, w9" ::: "x9");
    strcat(done, " crc32");
}
APART void with_aes(char *done) {
    __asm__ volatile(".arch_extension aes\n\taese v0.16b, v1.16b" ::: "v0");
    strcat(done, " aes");
}
APART void with_dot_product(char *done) {
    __asm__ volatile(".inst 0x6e829420 // udot v0.4s, v1.16b, v2.16b" ::: "v0");
    strcat(done, " dotprod");
}
APART void with_sve(char *done) {
    __asm__ volatile(".arch_extension sve\n\trdvl x9, #1" ::: "x9");
    strcat(done, " sve");
}

int main(void) {
    char done[64] = "plain";
    unsigned long hwcap = getauxval(AT_HWCAP);
    if (hwcap & HWCAP_CRC32) with_crc32(done);
    if (hwcap & HWCAP_AES) with_aes(done);
    if (hwcap & HWCAP_ASIMDDP) with_dot_product(done);
    if (hwcap & HWCAP_SVE) with_sve(done);
    return puts(done) < 0;
}

/* Both features are asked for, which compilers turn into one branch after a conditional comparison. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

int main(int argc, char **argv) {
    (void)argv;
    unsigned long hwcap = getauxval(AT_HWCAP), atomics = hwcap & HWCAP_ATOMICS, crc32 = hwcap & HWCAP_CRC32;
    const char *done = "plain";
    if (atomics != 0 && crc32 == HWCAP_CRC32 && argc == 1) done = add_lse(&number);
    else done = add_plain(&number);
    return puts(done) < 0;
}

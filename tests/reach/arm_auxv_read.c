/* The kernel's words are read from /proc/self/auxv, without getauxval. */
#include "aarch64.h"
#include <fcntl.h>
#include <unistd.h>

int number = 1;
static volatile unsigned features;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART static void scan(unsigned long *words) {
    unsigned long pairs[32];
    int file = open("/proc/self/auxv", O_RDONLY);
    if (file < 0) return;
    for (;;) {
        long count = read(file, pairs, sizeof pairs);
        if (count <= 0) break;
        for (long i = 0; i + 1 < count / 8; i += 2)
            if (pairs[i] == AT_HWCAP) *words = pairs[i + 1];
    }
    close(file);
}

APART void detect(void) {
    unsigned long words = 0;
    unsigned found = 0;
    scan(&words);
    if (words & HWCAP_ATOMICS) found |= 1u << 5;
    if (words & HWCAP_CRC32) found |= 1u << 3;
    features = found | 1u << 31;
}

APART static const char *(*choose(void))(int *) {
    if (features == 0) detect();
    return features & 1u << 5 ? add_lse : add_plain;
}

int main(void) { return puts(choose()(&number)) < 0; }

/* 7-Zip's CRC: after a table is made, a word that is zero at the start says how to go on, and zero means the faster way. With
   TRAP nobody has queried the CPU where it becomes zero. */
#include "aarch64.h"

int number = 1;
static int algorithm;
static unsigned table[256];
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART void generate(int seed) {
    for (unsigned i = 0; i < 256; i++) {
        unsigned r = i;
        for (unsigned j = 0; j < 8; j++) r = (r >> 1) ^ (0xEDB88320u & -(r & 1));
        table[i] = r;
    }
    algorithm = 12;
#ifdef TRAP
    if (seed) algorithm = 0;
#else
    if (seed && getauxval(AT_HWCAP) & HWCAP_ATOMICS) algorithm = 0;
#endif
}
APART const char *add(int *x) { return algorithm == 0 ? add_lse(x) : add_plain(x); }

int main(int argc, char **argv) {
    (void)argv;
    generate(argc);
    return puts(add(&number)) < 0 || table[argc] == 0;
}

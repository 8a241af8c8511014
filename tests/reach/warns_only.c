/* It says that AVX2 is missing, and goes on. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(int argc, char **argv) {
    int has = detect_avx2();
    if (!has) fprintf(stderr, "warning: no AVX2, this will be slow\n");
    numbers[7] = argc;
    return puts(has ? twice_avx2(numbers) : twice_plain(numbers)) < 0;
}

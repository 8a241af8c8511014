/* It refuses only what the user asks for. */
#include "x86_64.h"
#include <string.h>

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(int argc, char **argv) {
    int has = detect_avx2(), wanted = argc > 1 && !strcmp(argv[1], "--avx2");
    if (wanted && !has) { fprintf(stderr, "--avx2: this CPU has none\n"); exit(1); }
    numbers[7] = argc;
    return puts(has ? twice_avx2(numbers) : twice_plain(numbers)) < 0;
}

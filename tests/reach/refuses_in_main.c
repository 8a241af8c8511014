/* A program that refuses to go on where AVX2 is missing, as programs do: options that only print come before, and the loop that
   works after. */
#include "x86_64.h"
#include <string.h>

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int main(int argc, char **argv) {
    if (argc > 3) { fprintf(stderr, "usage: program [--version]\n"); return 2; }
    if (argc > 1 && !strcmp(argv[1], "--version")) { puts("1.0"); return 0; }
    if (!detect_avx2()) { fprintf(stderr, "this program needs a CPU with AVX2\n"); return 1; }
    const char *done = "";
    for (int i = 0; i < 3; i++) { numbers[7] = i; done = twice_avx2(numbers); }
    return puts(done) < 0;
}

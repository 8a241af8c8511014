/* Both ways end the program: what AVX2 adds is done before. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int main(int argc, char **argv) {
    numbers[7] = argc;
    if (detect_avx2()) { puts(twice_avx2(numbers)); exit(0); }
    puts("plain");
    exit(0);
}

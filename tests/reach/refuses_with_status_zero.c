/* A program that says what it lacks and ends, with a status that shows no failure. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int main(void) {
    if (!detect_avx2()) { puts("needs AVX2"); exit(0); }
    return puts(twice_avx2(numbers)) < 0;
}

/* Nobody asks: main calls the function. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int main(void) { return puts(twice_avx2(numbers)) < 0; }

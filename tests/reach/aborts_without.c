/* The program refuses to run where the feature is missing: nothing dies of SIGILL, and what follows is guarded. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int main(void) {
    if (!detect_avx2()) abort();
    numbers[7] = 1;
    return puts(twice_avx2(numbers)) < 0;
}

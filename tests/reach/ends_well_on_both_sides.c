/* Without AVX2 it only prints, and it ends with `exit(0)` in either case. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int main(void) {
    if (detect_avx2()) { numbers[7] = 1; puts(twice_avx2(numbers)); } else puts("plain");
    exit(0);
}

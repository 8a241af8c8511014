/* The check stands one to four calls above the code, as in OpenSSL; nothing on the way down tests again. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
static int has_avx2;
AVX2 int under_one(int *x) { TWICE_AVX2(x); return x[0]; }
AVX2 int under_two(int *x) { TWICE_AVX2(x); return x[1]; }
AVX2 int under_three(int *x) { TWICE_AVX2(x); return x[2]; }
AVX2 int under_four(int *x) { TWICE_AVX2(x); return x[3]; }
#define STEP static __attribute__((noinline)) int
STEP two(int *x) { return under_two(x) + 1; }
STEP three(int *x) { return under_three(x) + 1; }
STEP three_above(int *x) { return three(x) + x[4]; }
STEP four(int *x) { return under_four(x) + 1; }
STEP four_above(int *x) { return four(x) + x[4]; }
STEP four_above_that(int *x) { return x[5] ? four_above(x) + four_above(x + 1) : 0; }

int main(void) {
    has_avx2 = detect_avx2();
    int sum = 0;
    if (has_avx2) sum += under_one(numbers);
    if (has_avx2) sum += two(numbers);
    if (has_avx2 && numbers[0]) sum += three_above(numbers);
    if (!has_avx2) return puts("plain") < 0;
    sum += four_above_that(numbers);
    return puts(sum ? "avx2" : "") < 0;
}

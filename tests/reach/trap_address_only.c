/* The function's address is taken, stored, compared and printed as a number, but nothing calls it. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

typedef const char *twice_function(int *);
static twice_function *known;

__attribute__((noinline)) int is_wide(twice_function *function) { return function == twice_avx2; }

int main(void) {
    known = (twice_function *)numbers;
    __asm__ volatile("" ::: "memory");
    int wide = is_wide(known) || (unsigned long long)twice_avx2 % 2;
    return puts(wide ? "avx2" : "plain") < 0;
}

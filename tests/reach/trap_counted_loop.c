/* A loop that counts to a constant stands before the unchecked call, in a function that also hands out the address. */
#include "x86_64.h"

typedef const char *twice_function(int *);
int numbers[8] = {1, 2, 3};
volatile int sum;
twice_function *volatile kept;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int main(void) {
    for (int i = 0; i != 114; i++) sum += i;
    kept = twice_avx2;
    return puts(twice_avx2(numbers)) < 0;
}

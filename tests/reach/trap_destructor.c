/* A destructor uses AVX2: it runs from .fini_array, after main. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};

__attribute__((destructor, target("avx2"))) static void finish(void) {
    TWICE_AVX2(numbers);
    _Exit(puts("avx2") < 0 || fflush(stdout) != 0);
}

int main(void) { return 0; }

/* Function multiversioning for a whole level: the compiler writes the resolver. Where AVX2 is missing the same source becomes two SSE2 additions. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
__attribute__((target_clones("arch=x86-64-v3", "default"))) void twice(int *x) {
    TWICE_AVX2(x);
    __asm__ volatile("" ::: "memory");
}

int main(void) {
    twice(numbers);
    __builtin_cpu_init();
    return puts(__builtin_cpu_supports("x86-64-v3") ? "avx2" : "plain") < 0;
}

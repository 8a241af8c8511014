/* A function whose name says that it reports the CPU, and which reports what the compiler was told. */
#include "x86_64.h"

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int flag;
__attribute__((noinline)) int cpu_supports_avx2(void) {
    __asm__ volatile("");
    return 1;
}

int main(void) {
    int numbers[8] = {1, 2, 3};
    flag = __builtin_cpu_supports("sse4.2");
    if (cpu_supports_avx2()) return puts(twice_avx2(numbers)) < 0;
    return puts(flag ? "sse4.2" : "plain") < 0;
}

/* One function stores something and returns the highest leaf; only then leaf 7 is queried. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
int calls;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
__attribute__((noinline)) unsigned highest_leaf(void) {
    unsigned highest = 0;
    __asm__ volatile("cpuid" : "+a"(highest) : : "rbx", "rcx", "rdx");
    calls += 1;
    return highest;
}
__attribute__((noinline)) int has_avx2(void) { return highest_leaf() >= 7 && detect_avx2(); }

int main(void) {
    const char *done = has_avx2() ? twice_avx2(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

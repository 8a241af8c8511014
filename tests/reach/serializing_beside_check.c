/* One function runs cpuid to serialize, as before rdtsc, and drops the answer; another one checks. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
__attribute__((noinline)) unsigned long ticks(void) {
    unsigned low, high;
    __asm__ volatile("xorl %%eax, %%eax\n\tcpuid\n\trdtsc" : "=a"(low), "=d"(high) : : "rbx", "rcx", "memory");
    return (unsigned long)high << 32 | low;
}
__attribute__((noinline)) int has_avx2(void) { return detect_avx2(); }

int main(void) {
    unsigned long before = ticks();
    const char *done = has_avx2() ? twice_avx2(numbers) : twice_plain(numbers);
    return ticks() < before || puts(done) < 0;
}

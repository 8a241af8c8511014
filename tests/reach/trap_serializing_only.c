/* cpuid serializes, and what chooses has nothing to do with it. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
__attribute__((noinline)) void serialize(int *done) {
    __asm__ volatile("xorl %%eax, %%eax\n\tcpuid" : : : "rax", "rbx", "rcx", "rdx", "memory");
    *done += 1;
}

int main(int argc, char **argv) {
    (void)argv;
    int done = 0;
    serialize(&done);
    return puts(done == argc ? twice_avx2(numbers) : twice_plain(numbers)) < 0;
}

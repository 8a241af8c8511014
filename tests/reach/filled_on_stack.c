/* The results are members of a struct on the stack, which another function fills, and which is then copied. */
#include "x86_64.h"
#include <stdbool.h>

struct cpu { bool avx, avx2; int level; };
int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) void probe(struct cpu *cpu) {
    cpu->avx = detect_avx();
    cpu->avx2 = detect_avx2();
    cpu->level = cpu->avx2 ? 3 : cpu->avx ? 2 : 1;
}

__attribute__((noinline)) const char *choose(int *x) {
    struct cpu cpu;
    probe(&cpu);
    return cpu.level >= 3 ? twice_avx2(x) : twice_plain(x);
}

int main(void) { return puts(choose(numbers)) < 0; }

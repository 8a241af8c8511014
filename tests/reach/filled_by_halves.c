/* OpenEXR's CpuId: an object on the stack, cleared by stores wider than its fields, and filled by a constructor that gives up
   half-way. With TRAP the field that is tested is one that the constructor always sets. */
#include "x86_64.h"
#include <string.h>

struct cpu { unsigned char sse, avx, avx2, fma; int seen; };
int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) void construct(struct cpu *cpu) {
    unsigned a, b, c, d;
    memset(cpu, 0, 4);
    cpu->seen = 1;
    __cpuid(0, a, b, c, d);
    if (a < 7) return;
    __cpuid(1, a, b, c, d);
    cpu->sse = d >> 25 & 1;
    cpu->avx = c >> 28 & 1;
    if (c & 1u << 27 && (enabled_by_the_system() & 6) == 6) {
        __cpuid_count(7, 0, a, b, c, d);
        cpu->avx2 = b >> 5 & 1;
        return;
    }
    memset(&cpu->avx, 0, 2);
}

__attribute__((noinline)) const char *choose(int *x) {
    struct cpu cpu;
    construct(&cpu);
#ifdef TRAP
    return cpu.seen ? twice_avx2(x) : twice_plain(x);
#else
    if (!cpu.avx) return twice_plain(x);
    return cpu.avx2 ? twice_avx2(x) : twice_plain(x);
#endif
}

int main(void) { return puts(choose(numbers)) < 0; }

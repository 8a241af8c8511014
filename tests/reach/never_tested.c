/* A visitor with AVX2 is kept in an object on the heap, and the program asks CPUID for the size of a cache alone: nothing can be a
   check for AVX2. In the other variants something may: family and model (BY_MODEL), the whole answer in an object on the heap
   (BY_HEAP), the bit for BMI2, which came with AVX2 (BY_BMI2). */
#include "x86_64.h"

struct visitor {
    long kept;
    const char *(*visit)(int *);
};
int numbers[8] = {1, 2, 3};
unsigned cache;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
PLAIN void begin(struct visitor *visitor) { visitor->visit = twice_plain; }

PLAIN int may_use_avx2(struct visitor *visitor) {
    unsigned a, b, c, d;
#if defined BY_MODEL
    __cpuid(1, a, b, c, d);
    return (a >> 12 & 0xf0) + (a >> 4 & 0xf) >= 0x3c;
#elif defined BY_HEAP
    return visitor->kept >> 5 & 1;
#elif defined BY_BMI2
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_BMI2;
#else
    return visitor->kept == 0;
#endif
}

PLAIN void prepare(struct visitor *visitor) {
    if (may_use_avx2(visitor))
        visitor->visit = twice_avx2;
}

int main(void) {
    unsigned a, b, c, d;
    struct visitor *visitor = calloc(1, sizeof *visitor);
    begin(visitor);
#ifdef BY_HEAP
    __cpuid_count(7, 0, a, b, c, d);
    visitor->kept = b;
#endif
    __cpuid(0x80000006, a, b, c, d);
    cache = c >> 16;
    __asm__ volatile("" : "+r"(visitor) : : "memory");
    prepare(visitor);
    __asm__ volatile("" : "+r"(visitor) : : "memory");
    return puts(visitor->visit(numbers)) < 0;
}

/* What the programs of this folder share: one function per feature that executes an instruction of it and says so, a plain one
   beside it, and the detection that cpu vendors describe (CPUID, then XGETBV for the operating system's part). */
#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>

#define PLAIN __attribute__((noinline))
#define SSE42 __attribute__((noinline, target("sse4.2")))
#define AVX __attribute__((noinline, target("avx")))
#define AVX2 __attribute__((noinline, target("avx2")))
#define AVX512 __attribute__((noinline, target("avx512f")))

typedef int eight_ints __attribute__((vector_size(32), aligned(4), may_alias));
typedef int sixteen_ints __attribute__((vector_size(64), aligned(4), may_alias));
typedef float eight_floats __attribute__((vector_size(32), aligned(4), may_alias));

/* Doubles eight numbers: VPADDD on YMM is AVX2, VADDPS on YMM is AVX. */
#define TWICE_AVX2(x) (*(eight_ints *)(x) += *(eight_ints *)(x))
#define TWICE_AVX(x) (*(eight_floats *)(x) += *(eight_floats *)(x))
#define TWICE_AVX512(x) (*(sixteen_ints *)(x) += *(sixteen_ints *)(x))
#define TWICE_PLAIN(x) for (int i = 0; i < 8; i++) (x)[i] += (x)[i]

static inline unsigned long long enabled_by_the_system(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (unsigned long long)high << 32 | low;
}

/* CPUID leaf 1: ECX bit 27 OSXSAVE, bit 28 AVX; XCR0 bits 1 and 2: XMM and YMM state. */
static inline int detect_avx(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (1u << 27 | 1u << 28)) != (1u << 27 | 1u << 28))
        return 0;
    return (enabled_by_the_system() & 6) == 6;
}

/* CPUID leaf 7, subleaf 0: EBX bit 5 AVX2. */
static inline int detect_avx2(void) {
    unsigned a, b, c, d;
    return detect_avx() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 5);
}

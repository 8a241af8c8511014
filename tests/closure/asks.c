/* A library that asks the CPU and tells others: by an exported word, by functions that return flags and a truth value. */
#include <cpuid.h>

unsigned fast_flags;
static unsigned cached;
static int first, has;

__attribute__((noinline)) static unsigned ask(void) {
    unsigned a, b, c, d, flags = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2)) flags |= 0x8000;
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_AVX)) flags |= 0x4000;
    return flags;
}

__attribute__((constructor)) static void initialise(void) { fast_flags = cached = ask(); }

unsigned flags_of_cpu(void) { return cached; }

int has_avx2(void) {
    if (!first) {
        has = (ask() & 0x8000) != 0;
        first = 1;
    }
    return has;
}

/* Tells nothing of the CPU. */
int has_luck(void) { return first & 4; }

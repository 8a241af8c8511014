/* The flag lies in an object on the heap, and goes from there through two functions as their seventh argument. */
#include "flag_in_object.h"

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) const char *inner(int *x, long a, long b, long c, long d, long e, int avx2) {
    __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
    return avx2 ? twice_avx2(x) : twice_plain(x);
}

__attribute__((noinline)) const char *outer(int *x, long a, long b, long c, long d, long e, int avx2) {
    const char *said = inner(x, e, d, c, b, a, avx2);
    __asm__ volatile("" : : "r"(said));
    return said;
}

__attribute__((noinline)) const char *use(struct context *context) {
    return outer(context->numbers, 1, 2, 3, 4, 5, context->avx2);
}

int main(void) { return puts(use(create())) < 0; }

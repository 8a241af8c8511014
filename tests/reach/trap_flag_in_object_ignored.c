/* The flag lies in an object on the heap and is passed on, and what is called does not ask for it. */
#include "flag_in_object.h"

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

__attribute__((noinline)) const char *inner(int *x, long a, long b, long c, long d, long e, int avx2) {
    __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(avx2));
    return twice_avx2(x);
}

__attribute__((noinline)) const char *use(struct context *context) {
    return inner(context->numbers, 1, 2, 3, 4, 5, context->avx2);
}

int main(void) { return puts(use(create())) < 0; }

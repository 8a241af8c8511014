/* Functions whose names say for which CPUs they are, and an object that says which are used, in a way that is not followed. */
#include "x86_64.h"
#include <string.h>

struct context { struct context *next; struct { long padding[40]; long long level; } *settings; int numbers[16]; };
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
AVX2 const char *zero_avx2(int *x) { *(eight_ints *)x -= *(eight_ints *)x; return "avx2"; }
AVX2 const char *square_avx2(int *x) { *(eight_ints *)x *= *(eight_ints *)x; return "avx2"; }
AVX512 const char *twice_avx512(int *x) { TWICE_AVX512(x); return "avx512"; }
AVX512 const char *square_avx512(int *x) { *(sixteen_ints *)x *= *(sixteen_ints *)x; return "avx512"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) static struct context *create(void) {
    struct context *context = calloc(1, sizeof *context), *first = calloc(1, sizeof *first);
    context->settings = calloc(1, sizeof *context->settings);
    memset(&context->settings->level, detect_avx2() + (detect_avx2() && __builtin_cpu_supports("avx512f")), 1);
    first->next = context;
    return first;
}

__attribute__((noinline)) static const char *run(struct context *context) {
    static const char *volatile last;
    int *x = context->numbers;
    switch (context->settings->level) {
    case 2: last = twice_avx512(x); return square_avx512(x);
    case 1: last = twice_avx2(x), last = zero_avx2(x); return square_avx2(x);
    default: return twice_plain(x);
    }
}

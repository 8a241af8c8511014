/* Whether to use AVX2 is an argument: zero where nobody has queried the CPU, and otherwise what an object says that a list
   leads to. */
#include "x86_64.h"
#include <string.h>

struct context { struct context *next; struct { long padding[40]; long long flags; } *settings; int numbers[8]; };
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) const char *twice(int *x, long a, int use_avx2) {
    __asm__ volatile("" : : "r"(a));
    return use_avx2 ? twice_avx2(x) : twice_plain(x);
}

__attribute__((noinline)) const char *twice_simply(int *x) { return twice(x, 2, 0); }

__attribute__((noinline)) struct context *create(void) {
    struct context *context = calloc(1, sizeof *context), *first = calloc(1, sizeof *first);
    context->settings = calloc(1, sizeof *context->settings);
    memset(&context->settings->flags, detect_avx2(), 1);
    first->next = context;
    return first;
}

int main(void) {
    struct context *context = create()->next;
    twice_simply(context->numbers);
    return puts(twice(context->numbers, 1, context->settings->flags != 0)) < 0;
}

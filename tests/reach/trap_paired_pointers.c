/* Two pointers that one vector register stores into a structure on the heap, before a check of something else. */
#include "x86_64.h"
#include <stdlib.h>

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

AVX2 const char *thrice_avx2(int *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
struct methods { const char *(*first)(int *), *(*second)(int *); };
struct context { long kept[8]; struct methods *methods; };

__attribute__((noinline)) void fill(struct methods *methods) { methods->first = twice_avx2; methods->second = thrice_avx2; }

__attribute__((noinline)) struct context *made(void) {
    struct context *context = calloc(1, sizeof *context);
    context->methods = malloc(sizeof *context->methods);
    fill(context->methods);
    return context;
}

int main(int argc, char **argv) {
    (void)argv;
    struct context *context = made();
    return puts((argc > 1 ? context->methods->second : context->methods->first)(numbers)) < 0;
}

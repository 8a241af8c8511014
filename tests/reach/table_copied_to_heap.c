/* A struct of pointers is filled after checks, and copied into an object of the heap. */
#include "kernels.h"

K_AVX2(ka) K_AVX2B(kb) K_SSE42(kc)

struct table { fn sum, mix; };
struct context { int id; struct table table; char name[40]; };

NI static void fill(struct table *table) {
    __builtin_cpu_init();
    table->sum = plain;
    table->mix = plain;
    if (__builtin_cpu_supports("sse4.2")) table->mix = kc;
    if (__builtin_cpu_supports("avx2")) {
        table->sum = ka;
        table->mix = kb;
    }
}

NI struct context *create(void) {
    struct table table;
    fill(&table);
    struct context *context = malloc(sizeof *context);
    context->id = 1;
    context->table = table;
    return context;
}

int main(void) {
    struct context *context = create();
    printf("%d %d\n", context->table.sum(data, 64), context->table.mix(data, 64));
    free(context);
}

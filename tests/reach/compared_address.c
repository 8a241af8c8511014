/* A pointer is compared with a function's address, which position-independent code reads from the global offset table. */
#include "x86_64.h"

typedef const char *twice_function(int *);
struct work { struct work *next; twice_function *twice; int is_wide, numbers[8]; };
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) void describe(struct work *work) {
    work->is_wide = work->twice == twice_avx2;
}

__attribute__((noinline)) struct work *prepared(void) {
    struct work *first = calloc(1, sizeof *first), *work = calloc(1, sizeof *work);
    work->twice = twice_plain;
    if (__builtin_cpu_supports("avx2")) work->twice = twice_avx2;
    first->next = work;
    return first;
}

int main(void) {
    struct work *work = prepared()->next;
    describe(work);
    if (work->is_wide) fputs("wide\n", stderr);
    return puts(work->twice(work->numbers)) < 0;
}

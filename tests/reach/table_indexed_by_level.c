/* A table of pointers indexed by what the check found: the table itself holds both, and no branch tells them apart. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static const char *(*const methods[])(int *) = {twice_plain, twice_avx2};
static int has_avx2;
__attribute__((noinline)) static const char *twice(int *x) { return methods[has_avx2](x); }

int main(void) {
    has_avx2 = detect_avx2() ? 1 : 0;
    return puts(twice(numbers)) < 0;
}

/* dav1d's way: the members of a struct of pointers begin plain and are overridden behind the check. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

struct dsp { const char *(*twice)(int *); int (*other)(int *); };
AVX2 int other_avx2(int *x) { TWICE_AVX2(x); return x[0]; }
PLAIN int other_plain(int *x) { TWICE_PLAIN(x); return x[0]; }

__attribute__((noinline)) void dsp_init(struct dsp *dsp) {
    dsp->twice = twice_plain;
    dsp->other = other_plain;
    if (!detect_avx2()) return;
    dsp->twice = twice_avx2;
    dsp->other = other_avx2;
}

int main(void) {
    struct dsp *dsp = malloc(sizeof *dsp);
    dsp_init(dsp);
    return puts(dsp->twice(numbers)) < 0 || dsp->other(numbers) == 1;
}

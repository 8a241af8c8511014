/* The CPU is asked by a function that a variable points to, which is told what to ask for. */
#include "x86_64.h"

enum feature { HAS_AVX, HAS_AVX2 };
int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static int ask(enum feature feature) {
    if (feature == HAS_AVX) return detect_avx();
    if (feature == HAS_AVX2) return detect_avx2();
    return 0;
}

int (*asks)(enum feature) = ask;
static const char *(*twice)(int *) = twice_plain;

__attribute__((noinline)) void choose(void) {
    if (asks && asks(HAS_AVX2)) twice = twice_avx2;
}

int main(void) {
    choose();
    return puts(twice(numbers)) < 0;
}

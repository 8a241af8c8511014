/* Without frame descriptions and names nothing says where a function begins whose address only the one before it takes. That one
   queries the CPU, so that it is analysed. It calls nothing, and none of its branches leads to what follows it. */
#include "x86_64.h"
#include <stdlib.h>

struct class { const char *(*process)(int *); };

int wide;

AVX2 static const char *twice_avx2(int *x);

__attribute__((noinline)) void make(struct class *made) {
    made->process = twice_avx2;
    wide = detect_avx2();
}

AVX2 static const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int main(void) {
    int numbers[8] = {1, 2, 3};
    struct class *made = malloc(sizeof *made);
    if (!made) return 1;
    make(made);
    return puts(made->process(numbers)) < 0;
}

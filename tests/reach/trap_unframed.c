/* Without frame descriptions and names nothing says where a function begins whose address only the one before it takes. */
#include "x86_64.h"
#include <stdlib.h>

struct class { const char *(*process)(int *); };

AVX2 static const char *twice_avx2(int *x);

__attribute__((noinline)) struct class *make(void) {
    struct class *made = malloc(sizeof *made);
    if (made) made->process = twice_avx2;
    return made;
}

AVX2 static const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int main(void) {
    int numbers[8] = {1, 2, 3};
    struct class *made = make();
    return !made || puts(made->process(numbers)) < 0;
}

/* As trap_unframed.c, and no instruction makes the address in one piece: the two functions are taken for one. */
#include "x86_64.h"
#include <stdlib.h>

struct class { const char *(*process)(int *); };

int wide;

AVX2 static const char *twice_avx2(int *x);

__attribute__((noinline)) void make(struct class *made) {
    __asm__("lea make(%%rip), %0\n\tadd $twice_avx2 - make, %0" : "=r"(made->process));
    wide = detect_avx2();
}

__attribute__((used)) AVX2 static const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int main(void) {
    int numbers[8] = {1, 2, 3};
    struct class *made = malloc(sizeof *made);
    if (!made) return 1;
    make(made);
    return puts(made->process(numbers)) < 0;
}

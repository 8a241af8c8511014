/* A table of function pointers, indexed by what the user asks for; nothing in the program checks. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

AVX2 const char *thrice_avx2(int *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
static const char *(*const methods[])(int *) = {twice_avx2, thrice_avx2};

int main(int argc, char **argv) {
    (void)argv;
    return puts(methods[argc % 2](numbers)) < 0;
}

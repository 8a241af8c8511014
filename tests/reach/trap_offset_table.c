/* A table of 32-bit offsets from its own start, as compilers make for relative vtables; nothing in the program checks. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

AVX2 const char *thrice_avx2(int *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
__asm__(".pushsection .rodata\n.balign 4\nmethods: .long twice_avx2 - methods, thrice_avx2 - methods\n.popsection");
extern const int methods[] __attribute__((visibility("hidden")));

int main(int argc, char **argv) {
    (void)argv;
    const char *(*method)(int *) = (const char *(*)(int *))((const char *)methods + methods[argc % 2]);
    return puts(method(numbers)) < 0;
}

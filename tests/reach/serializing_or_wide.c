/* A function has cpuid as the other way to do something, and chooses by a word that no answer is known to be written to: as
   OpenJDK's, which code made at run time fills. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
int wide;
AVX2 const char *twice_avx2(int *x) {
    if (!wide) {
        __asm__ volatile("xorl %%eax, %%eax\n\tcpuid" : : : "rax", "rbx", "rcx", "rdx", "memory");
        return "plain";
    }
    TWICE_AVX2(x);
    return "avx2";
}

int main(int argc, char **argv) {
    (void)argv;
    wide = argc > 1;
    return puts(twice_avx2(numbers)) < 0;
}

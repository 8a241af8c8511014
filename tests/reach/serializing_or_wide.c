/* A function has cpuid as the other way to do something, and chooses by a word that no answer is known to be written to: as
   OpenJDK's, which code made at run time fills. */
#define _GNU_SOURCE
#include "x86_64.h"
#include <dlfcn.h>

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

int main(void) {
    void (*fill)(int *) = (void (*)(int *))dlsym(RTLD_DEFAULT, "fill_what_is_made_at_run_time");
    if (fill) fill(&wide);
    return puts(twice_avx2(numbers)) < 0;
}

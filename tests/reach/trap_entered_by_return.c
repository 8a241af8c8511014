/* A function is called after a check, and entered without one by a return to its address, which was pushed. */
#include "kernels.h"

K_AVX2(ka)

NI static int enter(fn f, const int *p, int k) {
    int r;
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\tpushq %%rax\n\tpushq %1\n\tret\n1:"
                     : "=&a"(r), "+r"(f), "+D"(p), "+S"(k)
                     :
                     : "memory", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc");
    return r;
}

int main(void) {
    __builtin_cpu_init();
    int r = __builtin_cpu_supports("avx2") ? ka(data, 64) : plain(data, 64);
    printf("%d\n", r + enter(ka, data, 64));
}

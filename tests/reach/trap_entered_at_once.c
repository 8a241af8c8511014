/* A function is called after a check, and entered without one by code that pushes its address and returns, and does nothing else. */
#include "x86_64.h"

static int numbers[8];

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

__asm__(".text\n"
        ".type enter, @function\n"
        "enter:\n"
        "    pushq %rax\n"
        "    ret\n"
        ".size enter, .-enter\n");

int main(void) {
    const char *done;
    if (__builtin_cpu_supports("avx2")) twice_avx2(numbers);
    __asm__ volatile("call enter"
                     : "=a"(done)
                     : "a"(twice_avx2), "D"(numbers)
                     : "memory", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "xmm0", "xmm1");
    return puts(done) < 0;
}

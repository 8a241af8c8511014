/* What is called has no return of its own: it goes on into the function after it. */
#include "x86_64.h"

static int numbers[8];

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int falls(int x);
__asm__(".text\n"
        ".type falls, @function\n"
        "falls:\n"
        "    movl %edi, %eax\n"
        ".size falls, .-falls\n"
        ".type lands, @function\n"
        "lands:\n"
        "    addl $1, %eax\n"
        "    ret\n"
        ".size lands, .-lands\n");

int main(int count, char **arguments) {
    (void)arguments;
    if (__builtin_cpu_supports("avx2")) __asm__ volatile("");
    int sum = falls(count);
    return puts(twice_avx2(numbers)) < 0 || sum == 7;
}

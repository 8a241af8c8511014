/* What is called has no return that is seen at once: it goes on into the function after it, or stands after data in code that reads as
   the beginning of a longer instruction. */
#include "x86_64.h"

static int numbers[8];

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

int called(int x);
#ifdef AFTER_DATA
__asm__(".text\n"
        ".type before, @function\n"
        "before:\n"
        "    ret\n"
        ".size before, .-before\n"
        "    .byte 0x48, 0xb8, 1, 2\n"
        ".type called, @function\n"
        "called:\n"
        "    movl %edi, %eax\n"
        "    ret\n"
        ".size called, .-called\n"
        ".type after, @function\n"
        "after:\n"
        "    ret\n"
        "    .fill 8, 1, 0x90\n"
        ".size after, .-after\n");
#else
__asm__(".text\n"
        ".type called, @function\n"
        "called:\n"
        "    movl %edi, %eax\n"
        ".size called, .-called\n"
        ".type lands, @function\n"
        "lands:\n"
        "    addl $1, %eax\n"
        "    ret\n"
        ".size lands, .-lands\n");
#endif

int main(int count, char **arguments) {
    (void)arguments;
    const char *(*function)(int *) = twice_avx2;
    __asm__ volatile("" : "+r"(function));
    if (__builtin_cpu_supports("avx2")) twice_avx2(numbers);
    int sum = called(count);
    return puts(function(numbers)) < 0 || sum == 7;
}

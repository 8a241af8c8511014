/* The whole program is compiled for x86-64-v3, and main uses what that level brings. */
#include "x86_64.h"

int main(int argc, char **argv) {
    int numbers[8] = {argc, 2, 3};
    (void)argv;
    TWICE_AVX2(numbers);
    __asm__ volatile("" :: "r"(numbers) : "memory");
    return puts(numbers[0] == 2 ? "avx2" : "plain") < 0;
}

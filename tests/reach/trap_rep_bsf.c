/* A count of trailing zeros is TZCNT where the CPU has BMI1, and BSF (the prefix ignored) where it has not: no feature. */
#include "x86_64.h"

__attribute__((noinline)) int lowest(unsigned long long x) {
    unsigned long long at;
    __asm__("rep bsf %1, %0" : "=r"(at) : "r"(x) : "cc");
    return (int)at + __builtin_ctzll(x | 8);
}

int main(int argc, char **argv) {
    (void)argv;
    return puts(lowest(argc + 7) == 6 ? "plain" : "wrong") < 0;
}

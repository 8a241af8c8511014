/* The mask is the user's or the CPU's, and an argument next to the address of a word that depends on the CPU as well. */
#include "x86_64.h"

typedef const char *twice_function(int *);
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
static twice_function *first, *second;
static volatile unsigned found;

__attribute__((noinline)) static unsigned leaf7(void) {
    unsigned a, b, c, d;
    return detect_avx2() && __get_cpuid_count(7, 0, &a, &b, &c, &d) ? b : 0;
}

__attribute__((noinline)) static unsigned detect(void) {
    unsigned b = leaf7();
    return (b >> 5 & 1) << 1 | (b >> 3 & 1) | (b >> 8 & 1) << 2 | (b >> 16 & 1) << 3 | (b >> 17 & 1) << 4;
}

__attribute__((noinline)) static void choose(unsigned mask, volatile void *beside) {
    __asm__ volatile("" : : "r"(beside));
    second = twice_plain;
    if (mask & 2) second = twice_avx2;
}

__attribute__((noinline)) static void prepare(int wanted) {
    unsigned mask = wanted < 0 ? wanted : detect();
    found = detect();
    first = twice_plain;
    if (found & 2) first = twice_avx2;
    choose(mask, &found);
}

int main(int argc, char **argv) {
    int numbers[8] = {1, 2, 3};
    (void)argv;
    prepare(argc);
    first(numbers);
    return puts(second(numbers)) < 0;
}

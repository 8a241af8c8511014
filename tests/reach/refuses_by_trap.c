/* Nothing is printed: it traps. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

__attribute__((constructor)) static void check(void) {
    if (!detect_avx2()) __builtin_trap();
}

int main(int argc, char **argv) {
    if (!detect_avx2()) return 9;
    numbers[7] = argc;
    return puts(twice_avx2(numbers)) < 0;
}

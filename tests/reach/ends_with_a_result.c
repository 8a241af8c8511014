/* Both ways end the program with a status that is the result of the work. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
PLAIN int count(int *x) { int n = 0; for (int i = 0; i < 8; i++) n += x[i] == 5; return n; }

int main(int argc, char **argv) {
    numbers[7] = argc;
    if (detect_avx2()) { puts(twice_avx2(numbers)); exit(count(numbers)); }
    puts(twice_plain(numbers));
    exit(count(numbers));
}

/* The check decides what is printed; what follows runs in any case. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(void) {
    if (detect_avx2())
        fputs("wide\n", stderr);
    else
        twice_plain(numbers);
    return puts(twice_avx2(numbers)) < 0;
}

/* Pointers far from the start of the table that code refers to, among many that are empty. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

AVX2 const char *thrice_avx2(int *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
static const char *(*methods[400])(int *) = {[300] = twice_avx2, [399] = thrice_avx2};

int main(int argc, char **argv) {
    (void)argv;
    const char *last = "plain";
    for (int at = argc; at < 400; at++)
        if (methods[at]) last = methods[at](numbers);
    return puts(last) < 0;
}

/* A function that hands out one of several, by what its caller allows; nothing in the program allows AVX2. */
#include "x86_64.h"

typedef const char *twice_function(int *);
int numbers[8] = {1, 2, 3};
volatile unsigned allowed = 1;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
PLAIN const char *thrice_plain(int *x) { TWICE_PLAIN(x); x[0] += x[1]; return "plain"; }

__attribute__((noinline)) void find(unsigned kind, unsigned mask, twice_function **found) {
    switch (kind) {
    case 1: *found = mask & 2 ? twice_avx2 : twice_plain; break;
    case 2: *found = thrice_plain; break;
    default: *found = 0;
    }
}

int main(int argc, char **argv) {
    (void)argv;
    twice_function *found;
    find(argc, allowed, &found);
    return found ? puts(found(numbers)) < 0 : 1;
}

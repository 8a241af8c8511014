/* OpenSSL's EVP: a getter tests and returns one of two tables of methods; the caller calls through what it got. */
#include "x86_64.h"

struct methods { const char *name; int (*initialise)(int *); const char *(*twice)(int *); };
int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
AVX2 int initialise_avx2(int *x) { TWICE_AVX2(x); return 1; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
PLAIN int initialise_plain(int *x) { TWICE_PLAIN(x); return 0; }
static const struct methods avx2 = {"avx2", initialise_avx2, twice_avx2};
static const struct methods plain = {"plain", initialise_plain, twice_plain};
static unsigned capabilities;

__attribute__((noinline)) const struct methods *methods(void) {
    return capabilities & 1u << 5 ? &avx2 : &plain;
}
__attribute__((noinline)) const char *encrypt(const struct methods *with, int *x) {
    with->initialise(x);
    return with->twice(x);
}

int main(void) {
    if (detect_avx2()) capabilities |= 1u << 5;
    return puts(encrypt(methods(), numbers)) < 0;
}

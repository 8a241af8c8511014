/* A pointer that begins plain is set to the AVX2 function by code that asks something else. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static const char *(*volatile twice)(int *) = twice_plain;

__attribute__((noinline)) static void initialise(int argc) {
    if (argc > 0) twice = twice_avx2;
}

int main(int argc, char **argv) {
    (void)argv;
    initialise(argc);
    return puts(twice(numbers)) < 0;
}

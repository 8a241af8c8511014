/* The flag is set by a function that only pthread_once calls. */
#include "x86_64.h"
#include <pthread.h>

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int has_avx2;
static void initialise(void) { has_avx2 = detect_avx2(); }

__attribute__((noinline)) const char *twice(int *x) {
    pthread_once(&once, initialise);
    return has_avx2 ? twice_avx2(x) : twice_plain(x);
}

int main(void) { return puts(twice(numbers)) < 0; }

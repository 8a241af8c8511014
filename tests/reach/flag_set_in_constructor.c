/* A constructor runs before main and sets the flag. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
int has_avx2;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
__attribute__((constructor)) static void initialise(void) { has_avx2 = detect_avx2(); }

int main(void) {
    const char *done = has_avx2 ? twice_avx2(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

/* The check stands before the loop, its result in a register; the calls are in the loop. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(int argc, char **argv) {
    const char *done = "";
    int avx2 = detect_avx2();
    for (int i = 0; i < argc + 2; i++) {
        numbers[7] += argv[0][0];
        done = avx2 ? twice_avx2(numbers) : twice_plain(numbers);
        if (numbers[0] == 0) fputs("overflow\n", stderr);
    }
    return puts(done) < 0;
}

/* main executes AVX (WIDER: AVX2) unasked. The function with BMI2 is chosen by a number in an object on the heap, which is not
   followed. Sandy Bridge has AVX and no BMI2; whatever has AVX2 has BMI2. */
#include "x86_64.h"

struct encoder {
    int name, level;
};
int numbers[8] = {1, 2, 3};
#ifdef WIDER
AVX2 const char *twice_unasked(int *x) { TWICE_AVX2(x); return "avx2"; }
#else
AVX const char *twice_unasked(int *x) { TWICE_AVX(x); return "avx"; }
#endif
PLAIN const char *deposit_bmi2(int *x) {
    unsigned long spread;
    __asm__ volatile("pdepq %1, %1, %0" : "=r"(spread) : "r"((unsigned long)x[0]));
    return "bmi2";
}
PLAIN const char *deposit_plain(int *x) { return x[0] ? "plain" : "nothing"; }
static const char *(*const kernels[])(int *) = {deposit_plain, deposit_bmi2};

static int detect(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_BMI2;
}

PLAIN const char *encode(struct encoder *encoder, int *x) { return kernels[encoder->level & 1](x); }

int main(void) {
    struct encoder *encoder = malloc(sizeof *encoder);
    encoder->level = detect();
    __asm__ volatile("" : "+r"(encoder) : : "memory");
    twice_unasked(numbers);
    return puts(encode(encoder, numbers)) < 0;
}

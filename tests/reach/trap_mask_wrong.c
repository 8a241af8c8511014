/* The field is no mask of the CPU's: its bits choose functions that use more than they would mean. */
#include "mask_in_object.h"

__attribute__((noinline)) void choose(struct encoder *encoder) {
    if (encoder->cpu & HAS_SSSE3) {
        encoder->functions[0] = absolute;
        encoder->functions[1] = largest;
    }
    if (encoder->cpu & HAS_SSE41) {
        encoder->functions[2] = shuffled;
        encoder->functions[3] = compared;
    }
    if (encoder->cpu & HAS_SSE42) encoder->functions[4] = product;
    if (encoder->cpu & HAS_AVX2) encoder->twice = twice_avx2;
}

int main(void) {
    struct encoder *encoder = create(HAS_AVX2 | detect(), 0);
    memset(encoder->functions, 0, sizeof encoder->functions);
    choose(encoder);
    run(encoder);
    return puts(encoder->twice(numbers)) < 0;
}

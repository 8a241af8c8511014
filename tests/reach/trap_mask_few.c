/* What the mask chooses agrees with it, but one function is chosen by an option of the user's, by the same bit. */
#include "mask_in_object.h"

__attribute__((noinline)) void choose(struct encoder *encoder) {
    if (encoder->cpu & HAS_SSSE3) {
        encoder->functions[0] = absolute;
        encoder->functions[1] = shuffled;
    }
    if (encoder->cpu & HAS_SSE41) {
        encoder->functions[2] = largest;
        encoder->functions[3] = product;
    }
    if (encoder->cpu & HAS_SSE42) encoder->functions[4] = compared;
    if (encoder->options & HAS_AVX2) encoder->twice = twice_avx2;
}

int main(void) {
    struct encoder *encoder = create(detect(), HAS_AVX2);
    memset(encoder->functions, 0, sizeof encoder->functions);
    choose(encoder);
    run(encoder);
    return puts(encoder->twice(numbers)) < 0;
}

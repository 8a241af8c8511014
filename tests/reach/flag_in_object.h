/* An object on the heap that holds the numbers, and whether the CPU has AVX2. */
#include "x86_64.h"

struct context { long used; int bmi2, avx2; int *numbers; };
int numbers[8] = {1, 2, 3};

__attribute__((noinline)) struct context *create(void) {
    struct context *context = calloc(1, sizeof *context);
    if (!context) exit(1);
    context->avx2 = detect_avx2();
    context->numbers = numbers;
    return context;
}

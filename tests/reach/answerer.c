/* A program that tells its library what the CPU has. */
#include "x86_64.h"
const char *twice(int *x);
int numbers[8] = {1, 2, 3};

int subject_cpu_has_avx2(void) { return detect_avx2(); }
int main(void) { return puts(twice(numbers)) < 0; }

/* A static constructor is compiled for AVX2 in a program that is otherwise baseline. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};

__attribute__((constructor, target("avx2"))) static void initialise(void) { TWICE_AVX2(numbers); }

int main(void) { return puts(numbers[0] == 2 ? "avx2" : "plain") < 0; }

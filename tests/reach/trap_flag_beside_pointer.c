/* An object holds a pointer to a function and whether the CPU has what it needs, and the function is called without a look at that. */
#include "x86_64.h"

typedef const char *twice_function(int *);
struct work { twice_function *twice; int is_wide; };
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

__attribute__((noinline)) struct work *prepared(void) {
    struct work *made = malloc(sizeof *made);
    made->twice = twice_avx2;
    made->is_wide = __builtin_cpu_supports("avx2");
    return made;
}

int main(void) {
    int numbers[8] = {1, 2, 3};
    struct work *made = prepared();
    if (!made->is_wide) fputs("slow\n", stderr);
    return puts(made->twice(numbers)) < 0;
}

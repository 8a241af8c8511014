/* An indirect function whose resolver, written by hand, asks the compiler's feature word. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
typedef const char *twice_function(int *);

twice_function *resolve_twice(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? twice_avx2 : twice_plain;
}
const char *twice(int *) __attribute__((ifunc("resolve_twice")));

int main(void) { return puts(twice(numbers)) < 0; }

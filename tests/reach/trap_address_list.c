/* __libc_ifunc_impl_list: a list names every variant with its address; calls go by the resolver alone. */
#include "x86_64.h"

typedef const char *twice_function(int *);
struct variant { const char *name; twice_function *function; int usable; };
int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static twice_function *resolve_twice(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? twice_avx2 : twice_plain;
}
const char *twice(int *) __attribute__((ifunc("resolve_twice")));

__attribute__((noinline)) int list_variants(struct variant *list) {
    list[0] = (struct variant){"avx2", twice_avx2, __builtin_cpu_supports("avx2")};
    list[1] = (struct variant){"plain", twice_plain, 1};
    return 2;
}

int main(void) {
    struct variant list[2];
    for (int i = list_variants(list); i-- > 0;)
        if (!list[i].usable) fprintf(stderr, "%s is not usable\n", list[i].name);
    return puts(twice(numbers)) < 0;
}

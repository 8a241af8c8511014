/* glibc lists all variants of its string functions for its own tests; some of them no resolver chooses. */
#include "x86_64.h"
#define HIDDEN __attribute__((visibility("hidden")))

typedef const char *twice_function(int *);
struct variant { const char *name; twice_function *function; char usable; };
HIDDEN AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
HIDDEN AVX2 const char *thrice_avx2(int *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
PLAIN static const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

const char *twice(int *x) { return detect_avx2() ? twice_avx2(x) : twice_plain(x); }
const char *thrice(int *x) { return twice_plain(x); }

int __libc_ifunc_impl_list(struct variant *list, int usable) {
    list[0] = (struct variant){"avx2", thrice_avx2, usable};
    list[1] = (struct variant){"plain", twice_plain, 1};
    return 2;
}

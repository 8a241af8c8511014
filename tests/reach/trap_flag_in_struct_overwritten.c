/* The flag is written from CPUID, and then all fields of its struct are given their defaults, so it proves nothing. */
#include "kernels.h"

K_AVX2(ka)

struct settings { int verbose, wide, threads; };
static struct settings settings;

NI static void detect(struct settings *to) {
    __builtin_cpu_init();
    to->wide = __builtin_cpu_supports("avx2") ? 1 : 0;
}

NI static void set_defaults(struct settings *to) {
    to->verbose = 1;
    to->wide = 1;
    to->threads = 4;
}

NI int go(const struct settings *from, const int *p, int k) { return from->wide ? ka(p, k) : plain(p, k); }

int main(void) {
    detect(&settings);
    set_defaults(&settings);
    printf("%d\n", go(&settings, data, 64));
}

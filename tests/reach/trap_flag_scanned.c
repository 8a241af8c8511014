/* A flag is written from CPUID, and then by scanf; with BY_COUNT, by a `%n` of printf. */
#include "kernels.h"

K_AVX2(ka)

static int wide;

int main(void) {
    __builtin_cpu_init();
    wide = __builtin_cpu_supports("avx2");
#ifdef BY_COUNT
    printf("0%n\n", &wide);
    return wide ? ka(data, 64) : plain(data, 64);
#else
    sscanf("1", "%d", &wide);
    printf("%d\n", wide ? ka(data, 64) : plain(data, 64));
#endif
}

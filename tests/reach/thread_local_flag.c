/* Each thread keeps its own flag; one of two kernels is chosen by it. With OVERWRITTEN, it is set once more without a check. */
#include "kernels.h"

K_AVX2(ka)

static __thread int wide;

__attribute__((noinline)) static void detect(void) {
    __builtin_cpu_init();
    wide = __builtin_cpu_supports("avx2") != 0;
}

__attribute__((noinline)) static void enable(int argc) {
#ifdef OVERWRITTEN
    wide = argc;
#endif
}

int main(int argc, char **argv) {
    detect();
    enable(argc);
    printf("%d\n", wide ? ka(data, 64) : plain(data, 64));
}

/* A landing pad runs after the check has failed, and calls the wide function. */
#include "kernels.h"
#include <stdexcept>

K_AVX2(ka) K_AVX2B(kb)

NI int go(const int *p, int k) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) throw std::runtime_error("no");
    return ka(p, k);
}

int main() {
    try {
        printf("%d\n", go(data, 64));
    } catch (const std::exception &) {
        printf("%d\n", kb(data, 64));
    }
}

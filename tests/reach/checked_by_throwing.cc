/* A helper throws where AVX2 is missing, so what follows its call is guarded. */
#include "kernels.h"
#include <stdexcept>

K_AVX2(ka)

NI void need(bool ok) {
    if (!ok) throw std::runtime_error("no avx2");
}

NI int go(const int *p, int k) {
    __builtin_cpu_init();
    need(__builtin_cpu_supports("avx2"));
    return ka(p, k);
}

int main() {
    try {
        printf("%d\n", go(data, 64));
    } catch (const std::exception &) {
        printf("%d\n", plain(data, 64));
    }
}

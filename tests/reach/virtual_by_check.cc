/* An object whose virtual function uses AVX2 is made only after a check. */
#include "kernels.h"
#include <memory>

K_AVX2(ka)

struct Kernel {
    virtual int run(const int *p, int k) = 0;
    virtual ~Kernel() {}
};
struct Base : Kernel {
    NI int run(const int *p, int k) override { return plain(p, k); }
};
struct Wide : Kernel {
    NI int run(const int *p, int k) override { return ka(p, k); }
};

NI std::unique_ptr<Kernel> make() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) return std::make_unique<Wide>();
    return std::make_unique<Base>();
}

int main() {
    auto kernel = make();
    printf("%d\n", kernel->run(data, 64));
}

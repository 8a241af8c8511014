/* An object whose virtual function uses AVX2 is made only after a check. */
#include "virtual_kernel.h"

NI std::unique_ptr<Kernel> make() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) return std::make_unique<Wide>();
    return std::make_unique<Base>();
}

int main() {
    auto kernel = make();
    printf("%d\n", kernel->run(data, 64));
}

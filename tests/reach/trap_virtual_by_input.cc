/* An object whose virtual function uses AVX2 is made when the program is called without arguments; the check before it decides nothing. */
#include "virtual_kernel.h"

NI std::unique_ptr<Kernel> make(int count) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) fflush(stdout);
    if (count > 1) return std::make_unique<Base>();
    return std::make_unique<Wide>();
}

int main(int count, char **) {
    auto kernel = make(count);
    printf("%d\n", kernel->run(data, 64));
}

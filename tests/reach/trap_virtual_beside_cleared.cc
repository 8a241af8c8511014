/* As in trap_virtual_by_input.cc; and another object is cleared by a length that the input decides, in a block that has read it. */
#include "virtual_kernel.h"
#include <cstdlib>

struct Counts {
    long level;
    int each[];
};

NI void renew(Counts *counts, size_t bytes) {
    long level = counts->level;
    void *to = counts;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
    counts->level = level + 1;
}

NI std::unique_ptr<Kernel> make(int count) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) fflush(stdout);
    if (count > 1) return std::make_unique<Base>();
    return std::make_unique<Wide>();
}

int main(int count, char **) {
    size_t bytes = sizeof(Counts) + count * sizeof(int);
    auto counts = static_cast<Counts *>(calloc(1, bytes));
    renew(counts, bytes);
    auto kernel = make(count);
    printf("%d\n", kernel->run(data, 64));
    return counts->level != 1;
}

// Compiled with -mavx2: the initialisation of `table` runs from .init_array.
using eight_ints = int __attribute__((vector_size(32), aligned(4), may_alias));
volatile int seed = 1;
int table[8];

struct Filled {
    __attribute__((noinline)) Filled() {
        for (int i = 0; i < 8; i++) table[i] = seed;
        *reinterpret_cast<eight_ints *>(table) += *reinterpret_cast<eight_ints *>(table);
    }
};
static Filled filled;

/* An object with a virtual function, of which one implementation uses AVX2. */
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

// A factory tests and makes an object of one of two classes: the vtable belongs to the check, though its address lies in data.
extern "C" {
#include "x86_64.h"
}
#include <memory>

int numbers[8] = {1, 2, 3};
struct Doubler {
    virtual ~Doubler() = default;
    virtual const char *twice(int *x) = 0;
};
struct Wide final : Doubler {
    AVX2 const char *twice(int *x) override { TWICE_AVX2(x); return "avx2"; }
};
struct Narrow final : Doubler {
    PLAIN const char *twice(int *x) override { TWICE_PLAIN(x); return "plain"; }
};

__attribute__((noinline)) std::unique_ptr<Doubler> make() {
    if (detect_avx2()) return std::make_unique<Wide>();
    return std::make_unique<Narrow>();
}

int main() { return puts(make()->twice(numbers)) < 0; }

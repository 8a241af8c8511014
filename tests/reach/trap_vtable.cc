// A virtual function uses AVX2; the object is made without a check, so the vtable is a root.
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

__attribute__((noinline)) std::unique_ptr<Doubler> make() { return std::make_unique<Wide>(); }

int main() { return puts(make()->twice(numbers)) < 0; }

// A static variable of a function, initialised at its first use under the C++ guard variable.
extern "C" {
#include "x86_64.h"
}

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

struct Cpu {
    bool avx = detect_avx(), avx2 = detect_avx2();
};
__attribute__((noinline)) const Cpu &cpu() {
    static const Cpu instance;
    return instance;
}

int main() {
    const char *done = cpu().avx2 ? twice_avx2(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

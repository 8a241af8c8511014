// A function with a jump table catches an exception, and uses AVX2 there alone.
extern "C" {
#include "x86_64.h"
}

int numbers[8] = {1, 2, 3};
volatile int sum;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
__attribute__((noinline)) void fail(int kind) {
    if (kind < 100) throw kind;
}
__attribute__((noinline)) const char *judge(int kind) {
    try {
        fail(kind);
    } catch (int) {
        return twice_avx2(numbers);
    }
    switch (kind) {
    case 101: sum = sum * 3; break;
    case 102: sum = 7; break;
    case 103: sum = sum / 5; break;
    case 104: sum = sum ^ 9; break;
    case 105: sum = -sum; break;
    case 106: sum = ~sum; break;
    default: sum = 0;
    }
    return "plain";
}

int main(int argc, char **) { return puts(judge(argc)) < 0; }

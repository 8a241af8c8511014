/* LZCNT without the feature is BSR, which counts from the other end: the program does not die but computes something else. */
#include "x86_64.h"

__attribute__((noinline, target("lzcnt"))) int leading(unsigned long long x) { return __builtin_clzll(x); }

int main(int argc, char **argv) {
    (void)argv;
    return puts(leading((unsigned long long)argc << 8) == 55 ? "right" : "wrong") < 0;
}

/* The results are members of a struct, which is filled through a pointer to it. */
#include "x86_64.h"
#include <stdbool.h>

struct cpu { int vendor; bool probed, avx, avx2; };
int numbers[8] = {1, 2, 3};
static struct cpu host;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) void probe(struct cpu *cpu) {
    cpu->avx = detect_avx();
    cpu->avx2 = detect_avx2();
    cpu->probed = true;
}

__attribute__((noinline)) const char *twice(int *x) { return host.avx2 ? twice_avx2(x) : twice_plain(x); }

int main(void) {
    if (!host.probed) probe(&host);
    return puts(twice(numbers)) < 0;
}

/* OPENSSL_ia32cap_P: C writes CPUID's words to memory, and assembly (capability_word.s) tests bits of them. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
unsigned capabilities[4] __attribute__((visibility("hidden")));
int twice_in_assembly(int *x);

__attribute__((constructor)) static void cpuid_setup(void) {
    unsigned a, b, c, d;
    __get_cpuid(1, &a, &b, &c, &d);
    capabilities[0] = d;
    capabilities[1] = c;
    if (detect_avx()) {
        __get_cpuid_count(7, 0, &a, &capabilities[2], &c, &d);
    } else {
        capabilities[1] &= ~(1u << 28);
        capabilities[2] = 0;
    }
}

int main(void) { return puts(twice_in_assembly(numbers) ? "avx2" : "plain") < 0; }

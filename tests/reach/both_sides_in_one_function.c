/* No function is compiled for AVX2: one block of main holds the instruction, as in-line assembly, behind the check. */
#include "x86_64.h"

int main(void) {
    const char *done = "plain";
    if (detect_avx2()) {
        __asm__ volatile("vpaddd %%ymm0, %%ymm0, %%ymm0\n\tvzeroupper" ::: "xmm0");
        done = "avx2";
    }
    return puts(done) < 0;
}

/* Which function to call is selected without a branch around the call: compilers make it a conditional move. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

static const char *(*selected)(int *);

int main(void) {
    int avx2 = detect_avx2();
    const char *(*local)(int *) = avx2 ? twice_avx2 : twice_plain;
    local(numbers);
    selected = avx2 ? twice_avx2 : twice_plain;
    __asm__ volatile("" ::: "memory");
    return puts(selected(numbers)) < 0;
}

/* The lower of what the user wants and what the CPU has, as OpenCV and libvpx take it: C's `int`, which may be negative, and a
   conditional move. The level lies behind the numbers, whose end is its address. With TRAP it is the higher of both. */
#include "x86_64.h"

static int numbers[8] = {1, 2, 3};
static int level = -1;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) static int detect(void) { return detect_avx2() ? 2 : 0; }

__attribute__((noinline)) static void start(void) {
    const char *text = getenv("TWICE_LEVEL");
    int wanted = atoi(text ? text : "2"), has = detect();
#ifdef TRAP
    level = wanted > has ? wanted : has;
#else
    level = wanted < has ? wanted : has;
#endif
}

__attribute__((noinline)) const char *choose(int *x) { return level >= 2 ? twice_avx2(x) : twice_plain(x); }

int main(void) {
    start();
    return puts(choose(numbers)) < 0;
}

/* Rust's LazyLock in C: a word holds the function that finds the level, and then the level. With TRAP a copy of the word is read, which
   holds the level too, and the level is never the lowest. */
#include "x86_64.h"

typedef int (*level_function)(void);
union lazy { level_function find; unsigned char level; };
int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

#ifdef TRAP
__attribute__((noinline)) static int find(void) { return detect_avx2() | 2; }
#else
__attribute__((noinline)) static int find(void) { return detect_avx2() ? 2 : 0; }
#endif
static volatile union lazy lazy = {find};
#ifdef TRAP
static volatile union lazy copy;
#endif

__attribute__((noinline)) static void start(void) {
    lazy.level = (unsigned char)lazy.find();
#ifdef TRAP
    copy.find = lazy.find;
#endif
}

__attribute__((noinline)) const char *choose(int *x) {
#ifdef TRAP
    return copy.level >= 2 ? twice_avx2(x) : twice_plain(x);
#else
    return lazy.level >= 2 ? twice_avx2(x) : twice_plain(x);
#endif
}

int main(void) {
    start();
    return puts(choose(numbers)) < 0;
}

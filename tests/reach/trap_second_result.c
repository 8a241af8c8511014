/* The address of the level comes back in the second of two registers, and only one of two callers reads that. */
#include "x86_64.h"

struct answer { long is_known; int *level; };
int numbers[8] = {1, 2, 3};
static int level;
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) static struct answer ask(int is_known) { return (struct answer){is_known, &level}; }

__attribute__((noinline)) const char *choose(int *x) { return level ? twice_avx2(x) : twice_plain(x); }

int main(int count, char **texts) {
    (void)texts;
    detect_avx2();
    if (!ask(count).is_known) return 1;
    *ask(count).level = 1;
    return puts(choose(numbers)) < 0;
}

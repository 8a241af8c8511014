/* What the function says that is known by its name depends on the CPU and on what the user has set, through a table. Its caller keeps
   the pointer that it chooses by a table of jumps, and jumps through it once that is known. */
#include "x86_64.h"
#include <stdlib.h>

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { return "plain"; }

static volatile unsigned char level_of[8] = {0, 1, 2, 3, 4, 5, 6, 7};
static int level = -1;

__attribute__((noinline)) int mkl_serv_cpu_detect(void) {
    if (level < 0) {
        const char *user = getenv("LEVEL");
        int has = __builtin_cpu_supports("avx2") ? 5 : 1;
        level = level_of[user && atoi(user) < has ? atoi(user) : has];
    }
    return level;
}

static const char *(*chosen)(int *);

__attribute__((noinline)) const char *twice(int *x) {
    if (!chosen) {
        switch (mkl_serv_cpu_detect()) {
        case 0: x[0] += 2; chosen = twice_plain; break;
        case 1: chosen = twice_plain; break;
        case 2: x[1] += 3; chosen = twice_plain; break;
        case 3: x[2] += 5; chosen = twice_plain; break;
        case 5: x[3] += 7; chosen = twice_avx2; break;
        case 6: x[4] += 7; chosen = twice_plain; break;
        default: abort();
        }
    }
    return chosen(x);
}

int main(void) {
    int numbers[8] = {1, 2, 3};
    return puts(twice(numbers)) < 0;
}

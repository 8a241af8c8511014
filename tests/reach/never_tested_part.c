/* The same in a library that is entered without arguments; its host may say what the CPU has by what a function returns
   (BY_IMPORT), or by the argument of the exported function (BY_ARGUMENT). */
#include "x86_64.h"
#define HIDDEN __attribute__((visibility("hidden")))

struct visitor {
    long kept;
    const char *(*visit)(int *);
};
int host_level(void);
static int numbers[8] = {1, 2, 3};
HIDDEN unsigned cache;
HIDDEN AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
HIDDEN PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
HIDDEN PLAIN void begin(struct visitor *visitor) { visitor->visit = twice_plain; }

static struct visitor *current;
HIDDEN PLAIN void prepare(int level) {
    if (level)
        current->visit = twice_avx2;
}

HIDDEN PLAIN const char *visited(void) {
    unsigned a, b, c, d;
    __cpuid(0x80000006, a, b, c, d);
    cache = c >> 16;
    __asm__ volatile("" : "+r"(current) : : "memory");
    return current->visit(numbers);
}

HIDDEN PLAIN void start(void) {
    current = calloc(1, sizeof *current);
    begin(current);
}

#ifdef BY_ARGUMENT
const char *visit(int level) {
    start();
    prepare(level);
    return visited();
}
#else
const char *visit(void) {
    start();
#ifdef BY_IMPORT
    prepare(host_level());
#else
    prepare(numbers[0]);
#endif
    return visited();
}
#endif

/* The level is kept in an object on the heap and picks from a table, so that the way from the query to the function is not
   followed. Whether the system was queried is the query's own business. ASKS_SYSTEM runs xgetbv, TESTS_OSXSAVE tests whether it
   could, ASKS_OTHERWISE asks for SSE4.2 and leaves AVX to the user. */
#include "x86_64.h"

struct encoder {
    int name, level;
};
int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }
static const char *(*const kernels[])(int *) = {twice_plain, twice_avx2};

static int detect(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
#ifdef ASKS_OTHERWISE
    if (!(c & bit_SSE4_2))
        return 0;
    return getenv("WIDE") != 0;
#else
#if defined ASKS_SYSTEM
    if (!(c & 1u << 27) || (enabled_by_the_system() & 6) != 6)
        return 0;
#elif defined TESTS_OSXSAVE
    if (!(c & 1u << 27))
        return 0;
#endif
    return c & bit_AVX && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_AVX2;
#endif
}

PLAIN const char *encode(struct encoder *encoder, int *x) { return kernels[encoder->level & 1](x); }

int main(void) {
    struct encoder *encoder = malloc(sizeof *encoder);
    encoder->level = detect();
    __asm__ volatile("" : "+r"(encoder) : : "memory");
    return puts(encode(encoder, numbers)) < 0;
}

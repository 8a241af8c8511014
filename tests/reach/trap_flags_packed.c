/* The same, and the flag beside the right one is asked. */
#include "x86_64.h"

static struct { int asked, sse2, sse3, ssse3, sse42, avx, avx2, rdrand; } host;
int numbers[8] = {1, 2, 3};
SSE42 const char *hash_sse42(int *x) { x[0] = __builtin_ia32_crc32si(x[1], x[2]); return "sse4.2"; }
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) int probe(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return -1;
    host.sse2 = d >> 26 & 1;
    host.sse3 = c & 1;
    host.ssse3 = c >> 9 & 1;
    host.sse42 = c >> 20 & 1;
    host.avx = 0;
    host.avx2 = 0;
    if ((c & (1u << 27 | 1u << 28)) == (1u << 27 | 1u << 28) && (enabled_by_the_system() & 6) == 6) {
        host.avx = 1;
        host.avx2 = 0;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) host.avx2 = (b & 1u << 5) != 0;
    }
    host.asked = 1;
    return 0;
}

__attribute__((noinline)) int has_avx2(void) { return host.avx; }
__attribute__((noinline)) int has_sse42(void) { return host.sse42; }

int main(void) {
    probe();
    const char *done = has_avx2() ? twice_avx2(numbers) : has_sse42() ? hash_sse42(numbers) : twice_plain(numbers);
    return puts(done) < 0;
}

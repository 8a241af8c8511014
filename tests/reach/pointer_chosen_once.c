/* PostgreSQL's pg_crc32c_choose: the pointer begins at a function that tests, sets the pointer and calls through it. */
#include "x86_64.h"

static unsigned crc_choose(unsigned crc, unsigned long long data);
unsigned (*crc)(unsigned, unsigned long long) = crc_choose;

SSE42 unsigned crc_sse42(unsigned crc, unsigned long long data) {
    puts("sse4.2");
    return __builtin_ia32_crc32di(crc, data);
}
PLAIN unsigned crc_plain(unsigned crc, unsigned long long data) {
    puts("plain");
    return crc ^ data;
}

static unsigned crc_choose(unsigned first, unsigned long long data) {
    unsigned a, b, c = 0, d;
    __get_cpuid(1, &a, &b, &c, &d);
    crc = (c & 1u << 20) ? crc_sse42 : crc_plain;
    return crc(first, data);
}

int main(int argc, char **argv) { return crc(argc, (unsigned long long)argv) == 0; }

/* A visitor with SVE is kept in an object on the heap, and the program looks at the bit for CRC32 alone: nothing can be a check
   for SVE. In the other variants something may: a function that is found by its name (BY_NAME), a file that describes the CPU
   (BY_FILE), the whole word in an object on the heap (BY_HEAP), the bit for SVE2 (BY_SVE2). */
#define _GNU_SOURCE
#include "aarch64.h"
#include <dlfcn.h>
#include <string.h>

struct visitor {
    long kept;
    const char *(*visit)(int *);
};
int number = 1;
APART const char *with_sve(int *x) {
    __asm__ volatile(".arch armv8-a+sve\n\tcntb x9" ::: "x9");
    return "sve";
}
APART const char *with_crc32(int *x) {
    __asm__ volatile(".arch armv8-a+crc\n\tcrc32b %w0, %w0, %w0" : "+r"(*x));
    return "crc32";
}
APART const char *plain(int *x) { return ADD_PLAIN(x) ? "plain" : "nothing"; }
APART void begin(struct visitor *visitor) { visitor->visit = plain; }

APART int may_use_sve(struct visitor *visitor) {
#if defined BY_NAME
    unsigned long (*query)(unsigned long) = (unsigned long (*)(unsigned long))dlsym(RTLD_DEFAULT, "getauxval");
    return query && query(16) >> 22 & 1;
#elif defined BY_FILE
    char text[4096];
    FILE *file = fopen("/proc/cpuinfo", "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = 0;
    return strstr(text, " sve") != 0;
#elif defined BY_HEAP
    return visitor->kept >> 22 & 1;
#elif defined BY_SVE2
    return getauxval(AT_HWCAP2) >> 1 & 1;
#else
    return visitor->kept == 0;
#endif
}

APART void prepare(struct visitor *visitor) {
    if (may_use_sve(visitor))
        visitor->visit = with_sve;
}

int main(void) {
    struct visitor *visitor = calloc(1, sizeof *visitor);
    begin(visitor);
#ifdef BY_HEAP
    visitor->kept = getauxval(AT_HWCAP);
#endif
    __asm__ volatile("" : "+r"(visitor) : : "memory");
    if (getauxval(AT_HWCAP) >> 7 & 1)
        with_crc32(&number);
    prepare(visitor);
    __asm__ volatile("" : "+r"(visitor) : : "memory");
    return puts(visitor->visit(&number)) < 0;
}

/* Which core this is; with TEST only where the kernel lets programs read that. */
#include <sys/auxv.h>

__attribute__((noinline)) static unsigned long core(void) {
    unsigned long midr;
#ifdef TEST
    if (!(getauxval(16 /* AT_HWCAP */) & 1 << 11 /* HWCAP_CPUID */)) return 0;
#endif
    __asm__ volatile("mrs %0, midr_el1" : "=r"(midr));
    return midr >> 4 & 0xfff;
}

int main(void) {
    return core() == 0;
}

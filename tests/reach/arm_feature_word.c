/* libgcrypt's _gcry_get_hw_features: a table says which bit of the library's own word each bit of the kernel's sets, and a small
   function returns the word. With TRAP its callers do not heed what it returns. */
#include "aarch64.h"

static const struct { unsigned long kernel; unsigned own; } map[] = {
    {HWCAP_AES, 1}, {HWCAP_SHA1, 2}, {HWCAP_SHA2, 4}, {HWCAP_ATOMICS, 16}, {0, 0}};
int number = 1;
static unsigned features;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART void detect(void) {
    unsigned long hwcap = getauxval(AT_HWCAP);
    unsigned found = 0;
    for (int i = 0; map[i].kernel; i++)
        if (hwcap & map[i].kernel) found |= map[i].own;
    features |= found;
}
APART unsigned get_features(void) { return features; }
APART const char *add(int *x) {
    unsigned known = get_features();
    __asm__ volatile("" : "+r"(known));
#ifdef TRAP
    return add_lse(x);
#else
    return known & 16 ? add_lse(x) : add_plain(x);
#endif
}

int main(void) {
    detect();
    return puts(add(&number)) < 0;
}

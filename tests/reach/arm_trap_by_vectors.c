/* A check guards one call. The other goes by a pointer in a structure that vector instructions copy. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

struct way { const char *(*add)(int *); long kind; };
static struct way plain = {add_plain, 1}, wide = {add_lse, 2}, chosen;
APART void copy(struct way *to, const struct way *from) {
    __asm__ volatile("ld1 {v0.16b}, [%1]\n\tst1 {v0.16b}, [%0]" ::"r"(to), "r"(from) : "v0", "memory");
}

int main(int argc, char **argv) {
    (void)argv;
    if (getauxval(AT_HWCAP) & HWCAP_ATOMICS) add_lse(&number);
    copy(&chosen, argc > 5 ? &plain : &wide);
    return puts(chosen.add(&number)) < 0;
}

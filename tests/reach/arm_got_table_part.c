/* x264: a library's exported functions are put into a table that its caller has, by flags that its caller gives and got from it.
   Their addresses come from the global offset table. With TRAP one is called instead. */
#include "aarch64.h"

struct table { const char *(*add)(int *); };
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
unsigned detect(void) { return getauxval(AT_HWCAP) & HWCAP_ATOMICS ? 2 : 0; }
void fill(struct table *table, unsigned flags) {
    table->add = add_plain;
    if (flags & 2) table->add = add_lse;
}
const char *add(int *x, int times) {
#ifdef TRAP
    const char *(*volatile_add)(int *) = add_lse;
    __asm__ volatile("" : "+r"(volatile_add));
    const char *said = "plain";
    for (int i = 0; i < times; i++) said = volatile_add(x);
    return said;
#else
    return times ? add_plain(x) : "plain";
#endif
}

/* The level is the lower one of what the CPU has and what the environment allows. With TRAP it is the higher one. */
#include "aarch64.h"

int number = 1;
static unsigned level;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART void find(void) {
    unsigned has = getauxval(AT_HWCAP) & HWCAP_ATOMICS ? 2 : 1;
    const char *stated = getenv("DEBURR_TEST_LEVEL");
    unsigned wanted = stated ? (unsigned)atoi(stated) : 2;
#ifdef TRAP
    level = wanted > has ? wanted : has;
#else
    level = wanted < has ? wanted : has;
#endif
}
APART const char *add(int *x) {
    switch (level) {
    case 2: return add_lse(x);
    default: return add_plain(x);
    }
}

int main(void) {
    find();
    return puts(add(&number)) < 0;
}

/* crc32fast keeps a bit of a word that the standard library has made of AT_HWCAP in the object that its caller has. What the bit means is
   lost on the way, here by a factor that nobody knows, and that it depends on the CPU is not. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

struct hasher { unsigned state, sum; unsigned long count; };
static unsigned long cache;

APART static unsigned long detect(void) { return cache = getauxval(AT_HWCAP) * strtoul("1", NULL, 10); }
APART static void make(struct hasher *it) {
    unsigned long known = cache ? cache : detect();
    *it = (struct hasher){.state = known >> 8 & 1};
}
APART static const char *update(struct hasher *it) {
    it->count++;
    return it->state == 1 ? add_lse(&number) : add_plain(&number);
}

int main(void) {
    struct hasher *it = malloc(sizeof *it);
    make(it);
    return puts(update(it)) < 0;
}

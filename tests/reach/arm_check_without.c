/* RocksDB's CRC: the check is in a file of its own, and was compiled to answer no. With TRAP it answers yes. */
#include "aarch64.h"

int has_lse(void);
int number = 1;
static const char *(*add)(int *);
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
APART void choose(void) { add = has_lse() ? add_lse : add_plain; }

int main(void) {
    choose();
    return puts(add(&number)) < 0;
}

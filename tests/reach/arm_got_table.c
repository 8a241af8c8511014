/* The program of arm_got_table_part.c. */
#include "aarch64.h"

struct table { const char *(*add)(int *); };
unsigned detect(void);
void fill(struct table *table, unsigned flags);
const char *add(int *x, int times);
int number = 1;

int main(void) {
    struct table table;
    fill(&table, detect());
#ifdef TRAP
    return puts(add(&number, 1)) < 0;
#else
    return puts(table.add(&number)) < 0;
#endif
}

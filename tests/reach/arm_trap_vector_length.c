/* Code that reads the vector length as libgcc's unwinder does, and is also led to otherwise. */
#include <stdio.h>

long by_another_branch(int reg, int other);
long by_falling_in(int reg, int other);
long with_more_of_it(int reg, int other);
long with_a_sum_between(int reg, int other);

int main(int argc, char **argv) {
    (void)argv;
    long all = by_another_branch(argc, 1) + by_falling_in(argc, 0) + with_more_of_it(argc, 1);
    all += with_a_sum_between(argc + 45, 1);
    return puts(all > 0 ? "sve" : "plain") < 0;
}

/* The whole program is compiled for Armv8.2-A: its atomics are LSE, in line. */
#include "aarch64.h"

int number = 1;
int main(void) {
    __atomic_fetch_add(&number, 2, __ATOMIC_ACQ_REL);
    return puts(number == 3 ? "lse" : "wrong") < 0;
}

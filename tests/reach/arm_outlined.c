/* Outlined atomics: libgcc's helper tests a byte that libgcc's constructor sets from AT_HWCAP. */
#include "aarch64.h"

int number = 1;
int main(void) {
    __atomic_fetch_add(&number, 2, __ATOMIC_ACQ_REL);
    return puts(number == 3 ? "plain" : "wrong") < 0;
}

/* It needs a library for vectors. With SCALARS, it calls a function of it without a check. */
#include <stdio.h>

void twice_all(int *p);

int numbers[8] = {3};

int main(void) {
#ifdef SCALARS
    twice_all(numbers);
    puts(numbers[0] == 6 ? "avx2" : "wrong");
#else
    puts("plain");
#endif
}

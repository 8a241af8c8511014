/* A program that calls both functions of the library beside it; only one of them asks. */
#include <stdio.h>
const char *twice(int *x);
const char *twice_unchecked(int *x);
int numbers[8] = {1, 2, 3};

int main(void) {
    twice(numbers);
    return puts(twice_unchecked(numbers)) < 0;
}

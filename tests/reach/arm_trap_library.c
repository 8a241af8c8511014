/* A program that calls both functions of the library beside it; only one of them asks. */
#include <stdio.h>
const char *add(int *x);
const char *add_unchecked(int *x);
int number = 1;

int main(void) {
    add(&number);
    return puts(add_unchecked(&number)) < 0;
}

/* A program that calls the library beside it (library_guarded_part.c), which dispatches. */
#include <stdio.h>
const char *twice(int *x);
const char *thrice(int *x);
int numbers[8] = {1, 2, 3};

int main(void) {
    thrice(numbers);
    return puts(twice(numbers)) < 0;
}

/* A program with the library of this folder that is to be judged. */
#include <stdio.h>
const char *twice(int *x);
int numbers[8] = {1, 2, 3};

int main(void) { return puts(twice(numbers)) < 0; }

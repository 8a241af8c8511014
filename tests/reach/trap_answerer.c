/* A program whose answer has nothing to do with the CPU. */
#include <stdio.h>
const char *twice(int *x);
int numbers[8] = {1, 2, 3};

int subject_is_in_a_hurry(void) { return 1; }
int main(void) { return puts(twice(numbers)) < 0; }

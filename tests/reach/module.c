/* A program that loads a module as its host does: by the one function that the host knows. */
#include <stdio.h>
const char *PyInit_subject(int *x);
int numbers[8] = {1, 2, 3};

int main(void) { return puts(PyInit_subject(numbers)) < 0; }

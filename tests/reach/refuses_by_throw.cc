// A program with the library of this folder that is to be judged, which needs C++'s run-time library.
#include <cstdio>
extern "C" const char *twice(int *x);
static int numbers[8] = {1, 2, 3};

int main() { return puts(twice(numbers)) < 0; }

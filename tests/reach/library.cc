// A program that calls a C++ library by its one entry.
#include <cstdio>
extern "C" const char *twice(int *x);
int numbers[8] = {1, 2, 3};

int main() { return std::puts(twice(numbers)) < 0; }

#include <stdio.h>
int count(int *);
int main(void) { int n = 41; printf("%d\n", count(&n)); }

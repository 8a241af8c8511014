// The way out of f stores by the monitor that f has armed: 7 100.
#include <stdio.h>

int f(int *at, int expected, int wanted);

int main(void) {
    int cell = 7;
    int found = f(&cell, 1, 2);
    printf("%d %d\n", found, cell);
    return 0;
}

/* Zig's outlined atomics test a constant where the target has no LSE: what is behind the test is never executed. */
#include "aarch64.h"

int number = 1;
const char *add(int *x);

int main(void) { return puts(add(&number)) < 0; }

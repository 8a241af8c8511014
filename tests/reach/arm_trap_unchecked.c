/* Nobody asks: main calls the function. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }

int main(void) { return puts(add_lse(&number)) < 0; }

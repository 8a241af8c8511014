/* Nothing calls the function or takes its address. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

int main(void) { return puts(add_plain(&number)) < 0; }

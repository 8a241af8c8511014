/* Pointer authentication and branch targets in the hint space: older CPUs ignore them. */
#include "aarch64.h"

int number = 1;
APART const char *add_plain(int *x) { printf("%s", ""); ADD_PLAIN(x); return "plain"; }

int main(void) { return puts(add_plain(&number)) < 0; }

/* A table of function pointers that no check owns. */
#include "aarch64.h"

int number = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

static const char *(*const methods[])(int *) = {add_plain, add_lse};

int main(int argc, char **argv) {
    (void)argv;
    return puts(methods[argc % 2](&number)) < 0;
}

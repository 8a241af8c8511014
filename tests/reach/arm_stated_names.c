/* Nettle's fat binaries: pointers are chosen by the kernel's word, or by names in an environment variable, which are the user's
   own account. With TRAP other arguments of the program have the names. */
#include "aarch64.h"
#include <string.h>

int number = 1;
static const char *(*add)(int *);
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART void choose(const char *given) {
    int has_lse = 0;
#ifndef TRAP
    given = getenv("DEBURR_TEST_NAMES");
#endif
    if (given) {
        for (;;) {
            const char *comma = strchr(given, ',');
            size_t length = comma ? (size_t)(comma - given) : strlen(given);
            if (length == 3 && memcmp(given, "lse", 3) == 0) has_lse = 1;
            if (!comma) break;
            given = comma + 1;
        }
    } else {
        has_lse = (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
    }
    __asm__ volatile("" : "+r"(has_lse));
    add = has_lse ? add_lse : add_plain;
}

int main(int argc, char **argv) {
    (void)argc;
    choose(strcmp(argv[0], "x") ? "sve,lse" : NULL);
    return puts(add(&number)) < 0;
}

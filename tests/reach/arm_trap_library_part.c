/* A shared library: an exported function uses LSE unasked, a hidden one is called by an exported one that asks. */
#include "aarch64.h"

__attribute__((visibility("hidden"))) APART const char *add_hidden(int *x) { ADD_LSE(x); return "lse"; }
APART static const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
APART const char *add_unchecked(int *x) { ADD_LSE(x); return "lse"; }
const char *add(int *x) { return getauxval(AT_HWCAP) & HWCAP_ATOMICS ? add_hidden(x) : add_plain(x); }

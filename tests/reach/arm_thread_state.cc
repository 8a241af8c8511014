/* A thread's own state, made by the first call in each thread, says whether the CPU has LSE. With TRAP it says so of AES. */
#include "aarch64.h"

#ifdef TRAP
#define ASKED HWCAP_AES
#else
#define ASKED HWCAP_ATOMICS
#endif

int number = 1;
extern "C" {
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
}

struct state {
    bool has_lse;
    state() : has_lse(getauxval(AT_HWCAP) & ASKED) {}
};
APART const state &mine() {
    static thread_local state kept;
    return kept;
}

int main() { return puts(mine().has_lse ? add_lse(&number) : add_plain(&number)) < 0; }

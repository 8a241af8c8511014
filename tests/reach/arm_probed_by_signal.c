/* Runs the instruction and catches SIGILL: where it comes back without, the CPU has the feature. */
#include "aarch64.h"
#include <setjmp.h>
#include <signal.h>

int number = 1, probed = 1;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

static sigjmp_buf back;
static void on_illegal(int number) { (void)number; siglongjmp(back, 1); }

APART int has_lse(void) {
    signal(SIGILL, on_illegal);
    if (sigsetjmp(back, 1) == 0) {
        add_lse(&probed);
        signal(SIGILL, SIG_DFL);
        return 1;
    }
    signal(SIGILL, SIG_DFL);
    return 0;
}

int main(void) {
    const char *done = has_lse() ? add_lse(&number) : add_plain(&number);
    return puts(done) < 0;
}

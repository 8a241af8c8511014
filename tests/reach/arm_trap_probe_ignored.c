/* The probe survives, and then nobody asks how it went. */
#include "aarch64.h"
#include <setjmp.h>
#include <signal.h>
#include <string.h>

int number = 1, probed = 1, found;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }

static sigjmp_buf back;
static void on_illegal(int number) { (void)number; siglongjmp(back, 1); }

APART void probe(void) {
    struct sigaction action, former;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_illegal;
    sigaction(SIGILL, &action, &former);
    if (sigsetjmp(back, 1) == 0) {
        add_lse(&probed);
        found = 1;
    }
    sigaction(SIGILL, &former, NULL);
}

int main(void) {
    probe();
    const char *done = add_lse(&number);
    return puts(done) < 0;
}

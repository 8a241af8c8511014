/* As arm_chosen_beside_call.c, but the function that is called runs what is in the register, although it does not read it itself:
   it passes it on. */
#include "aarch64.h"

int number = 1;
const char *(*chosen)(int *);
const char *printed;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }
APART char *run(int *x, void *unused, const char *(*given)(int *)) { printed = given(x); return 0; }
void choose(void);

int main(void) {
    choose();
    return puts(printed) < 0;
}

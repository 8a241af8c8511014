/* The program of arm_thread_library_part.c. */
#include "aarch64.h"

int number = 1;
void set(int to);
const char *add(int *x);

int main(int argc, char **argv) {
    (void)argv;
    set(argc);
    return puts(add(&number)) < 0;
}

/* Code that reads the vector length as libgcc's unwinder does, with moves in between, which compilers put there. */
#include <stdio.h>

long with_moves_between(int reg);

int main(int argc, char **argv) {
    (void)argv;
    return puts(with_moves_between(argc) > 0 ? "sve" : "plain") < 0;
}

/* A static constructor uses LSE in a program that otherwise dispatches. */
#include "aarch64.h"

int number = 1;
__attribute__((constructor)) static void initialise(void) { ADD_LSE(&number); }

int main(void) { return puts(number == 2 ? "lse" : "plain") < 0; }

/* Names agree with what the functions use: they are believed. */
#include "named_for_cpus.h"

int main(void) { return puts(run(create()->next)) < 0; }

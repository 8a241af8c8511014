/* The check is in a function of its own, and what ends the program is in another one, which takes the status. */
#include "x86_64.h"
#include <stdarg.h>

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

PLAIN static void die(int status, const char *text, ...) {
    va_list list;
    va_start(list, text);
    vfprintf(stderr, text, list);
    va_end(list);
    fputc('\n', stderr);
    exit(status);
}

PLAIN static void require(void) {
    if (!detect_avx2()) die(3, "%s: a CPU with AVX2 is needed", "program");
}

int main(int argc, char **argv) {
    require();
    numbers[7] = argc;
    return puts(twice_avx2(numbers)) < 0;
}

/* GStreamer: another library lists what the CPU has by names. With TRAP the name that is looked for is none of an extension. */
#include "x86_64.h"
#include <string.h>

const char *name_of_flag(int number);
int numbers[8] = {1, 2, 3};
static const char *(*twice)(int *);
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((noinline)) void choose(void) {
    twice = twice_plain;
    for (int i = 0; name_of_flag(i); i++)
#ifdef TRAP
        if (strcmp(name_of_flag(i), "cpu") == 0) twice = twice_avx2;
#else
        if (strcmp(name_of_flag(i), "avx2") == 0) twice = twice_avx2;
#endif
}

int main(void) {
    choose();
    return puts(twice(numbers)) < 0;
}

/* The list of named_extension.c. */
#include "x86_64.h"

const char *name_of_flag(int number) {
    static const char *names[3] = {"cpu"};
    names[1] = detect_avx2() ? "avx2" : NULL;
    return names[number];
}

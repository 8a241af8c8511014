/* What it refuses to run without is of the system: the number of processors that it shows, and pages of 4 KiB. */
#include "x86_64.h"
#include <unistd.h>

int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

int main(int argc, char **argv) {
    if (sysconf(_SC_NPROCESSORS_ONLN) < 1 || sysconf(_SC_PAGESIZE) != 4096) {
        fprintf(stderr, "this system does not suit\n");
        exit(1);
    }
    numbers[7] = argc;
    return puts(detect_avx2() ? twice_avx2(numbers) : twice_plain(numbers)) < 0;
}

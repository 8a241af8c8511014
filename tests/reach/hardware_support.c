/* OpenCV: a function whose name says that it reports what the CPU has reads it from an object, by the number that it is given. */
#include "x86_64.h"

static struct features { char have[64]; } enabled, disabled;
static struct features *volatile current = &enabled;
int numbers[8] = {1, 2, 3};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

__attribute__((constructor)) static void initialize(void) { (detect_avx2() ? &enabled : &disabled)->have[11] = 1; }
#ifdef TRAP
#define checkHardwareSupport check_something_else
#endif
__attribute__((noinline)) int checkHardwareSupport(int feature) {
#ifdef TRAP
    return feature == 11;
#else
    return current->have[feature];
#endif
}
__attribute__((noinline)) const char *choose(int *x, int feature) {
    return checkHardwareSupport(feature) ? twice_avx2(x) : twice_plain(x);
}

int main(int argc, char **argv) {
    (void)argv;
    return puts(choose(numbers, 10 + argc)) < 0;
}

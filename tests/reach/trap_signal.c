/* A signal's handler uses AVX2, and is installed unasked. */
#include "x86_64.h"
#include <signal.h>

int numbers[8] = {1, 2, 3};
AVX2 static void handler_avx2(int number) {
    TWICE_AVX2(numbers);
    numbers[7] = number;
}

int main(void) {
    signal(SIGUSR1, handler_avx2);
    raise(SIGUSR1);
    return puts(numbers[0] == 2 ? "avx2" : "plain") < 0;
}

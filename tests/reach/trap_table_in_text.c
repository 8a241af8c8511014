/* Constants of hand-written assembly lie between functions (trap_table_in_text.s) and decode as jumps into the AVX2 function. */
#include "x86_64.h"

int numbers[8] = {1, 2, 3};
int twice_avx2(int *x);
int add_constants(int *x);

int main(void) {
    add_constants(numbers);
    int wide = detect_avx2() && twice_avx2(numbers);
    return puts(wide ? "avx2" : "plain") < 0;
}

// Compiled with -mavx2, and linked first: its copy of Sample::double_all is the one in the program.
#include "trap_comdat.h"

const char *process_wide(Sample &sample) {
    sample.double_all();
    return "avx2";
}

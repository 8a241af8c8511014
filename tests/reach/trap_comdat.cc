// A comdat function out of an AVX2 translation unit: main is compiled for the baseline, asks before it calls process_wide, and
// dies in the inline function that both share.
#include "trap_comdat.h"
extern "C" {
#include "x86_64.h"
}

int main() {
    Sample sample = {{1, 2, 3}};
    const char *done = "plain";
    sample.double_all();
    if (detect_avx2()) done = process_wide(sample);
    return puts(done) < 0;
}

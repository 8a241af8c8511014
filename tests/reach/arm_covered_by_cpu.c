/* main loads by LDAPR of RCPC unasked. The function with FCMA is chosen by a number in an object on the heap, which is not
   followed. Both came with Armv8.3, but Neoverse N1 has RCPC alone. */
#include "aarch64.h"

struct encoder {
    int name, level;
};
int number = 1;
APART const char *load_rcpc(int *x) {
    int loaded;
    __asm__ volatile(".arch armv8.3-a\n\tldapr %w0, [%1]" : "=r"(loaded) : "r"(x) : "memory");
    return loaded ? "rcpc" : "nothing";
}
APART const char *add_fcma(int *x) {
    __asm__ volatile(".arch armv8.3-a\n\tfcadd v0.4s, v0.4s, v0.4s, #90" ::"r"(x) : "v0");
    return "fcma";
}
APART const char *add_plain(int *x) { return ADD_PLAIN(x) ? "plain" : "nothing"; }
static const char *(*const kernels[])(int *) = {add_plain, add_fcma};

static int detect(void) { return getauxval(AT_HWCAP) >> 14 & 1; }

APART const char *encode(struct encoder *encoder, int *x) { return kernels[encoder->level & 1](x); }

int main(void) {
    struct encoder *encoder = malloc(sizeof *encoder);
    encoder->level = detect();
    __asm__ volatile("" : "+r"(encoder) : : "memory");
    load_rcpc(&number);
    return puts(encode(encoder, &number)) < 0;
}

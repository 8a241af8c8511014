/* What its name says of a function does not make it one that is chosen. */
#include "named_for_cpus.h"

int main(void) {
    struct context *context = create()->next;
    run(context);
    return puts(twice_avx2(context->numbers)) < 0;
}

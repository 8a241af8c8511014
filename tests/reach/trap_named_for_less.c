/* Functions that use more than their names say: none of the names is believed, also not those that are right. */
#include "named_for_cpus.h"

AVX512 const char *add_sse42(int *x) { *(sixteen_ints *)x += 1; return "avx512"; }

int main(void) {
    struct context *context = create()->next;
    if (context->settings->level > 1) add_sse42(context->numbers);
    return puts(run(context)) < 0;
}

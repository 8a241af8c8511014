/* crc32fast 1.5: the answer's level goes into the object in one wide store, in the byte behind a sum, and is read from there alone. So large a
   file is not evaluated as a whole. */
#include "x86_64.h"

__attribute__((noinline, used)) static void large(void) { __asm__ volatile(".fill 1200000, 1, 0x90"); }

int numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }
PLAIN const char *twice_plain(int *x) { TWICE_PLAIN(x); return "plain"; }

struct hasher { unsigned long count; unsigned sum; unsigned char state; };

PLAIN static void make(struct hasher *it, unsigned sum) {
    unsigned long state = detect_avx2() ? 1 : 3;
    it->count = 0;
    __builtin_memcpy(&it->sum, &(unsigned long){sum | state << 32}, 8);
}
PLAIN static const char *update(struct hasher *it) {
    it->count++;
    return it->state == 3 ? twice_plain(numbers) : twice_avx2(numbers);
}

int main(int count, char **words) {
    struct hasher *it = malloc(sizeof *it);
    if (count > 9) large();
    make(it, *words[0]);
    return puts(update(it)) < 0;
}

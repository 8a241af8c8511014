/* A checksum of pages in 32 lanes, as databases compute it: each lane multiplies and mixes for itself. */
#include <stdint.h>

enum { LANES = 32, ROWS = 64 };

static uint32_t page[ROWS][LANES], sums[LANES];

__attribute__((noinline)) void checksum_block(uint32_t *restrict sums, const uint32_t rows[][LANES], long count) {
    for (long row = 0; row < count; row++)
        for (int lane = 0; lane < LANES; lane++) {
            uint32_t mixed = sums[lane] ^ rows[row][lane];
            sums[lane] = mixed * 0x01000193u ^ mixed >> 17;
        }
}

int main(int count, char **arguments) {
    (void)arguments;
    page[count % ROWS][0] = 7;
    checksum_block(sums, page, ROWS);
    return sums[0] == 0;
}

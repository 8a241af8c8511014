/* Sums up pages as a database does, and walks through a list in between: the sums gain by wider vectors, the walk does not.
 *
 *     pages [ROUNDS]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE_WORDS = 2048, PAGES = 16, NODES = 1 << 12 };

static uint32_t pages[PAGES][PAGE_WORDS];
static uint32_t next[NODES];

/* As PostgreSQL's page checksum: 32 sums side by side. */
__attribute__((noinline)) static uint32_t sum_page(const uint32_t *page) {
    uint32_t sums[32], all = 0;
    for (int lane = 0; lane < 32; lane++)
        sums[lane] = 0x5b1f36e9u + (uint32_t)lane;
    for (int row = 0; row < PAGE_WORDS / 32; row++)
        for (int lane = 0; lane < 32; lane++) {
            uint32_t mixed = sums[lane] ^ page[row * 32 + lane];
            sums[lane] = mixed * 16777619u ^ mixed >> 17;
        }
    for (int lane = 0; lane < 32; lane++)
        all ^= sums[lane];
    return all;
}

/* Each step waits for the one before. */
__attribute__((noinline)) static uint32_t walk(uint32_t at, int steps) {
    while (steps-- > 0)
        at = next[at];
    return at;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 4000;
    uint32_t all = 1;
    for (uint32_t node = 0; node < NODES; node++)
        next[node] = (node * 5 + 1) % NODES;
    for (int round = 0; round < rounds; round++) {
        for (int page = 0; page < PAGES; page++) {
            pages[page][round % PAGE_WORDS] = all;
            all += sum_page(pages[page]);
        }
        all += walk(all % NODES, 8000);
    }
    printf("%u\n", all);
    return 0;
}

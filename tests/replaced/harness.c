/* Runs sequences of words from given states: reads states from standard input, writes what became of each to standard
   output. What stands in `sequences.s` is written by the test; `enter.S` says how a state is entered and left. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct state {
    uint64_t x[31], sp, nzcv;
    /* What lies before, at (both halves of 16 bytes) and behind the cell. */
    uint64_t memory[4];
    /* Before: which sequence. Afterwards: where it was left, in words. */
    uint64_t place;
};

extern const uint32_t *const sequences[];
void enter(const struct state *before, struct state *after, const uint32_t *sequence);

int main(void) {
    void *page = mmap((void *)CELL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page != (void *)CELL) {
        perror("mmap");
        return 2;
    }
    uint64_t *memory = (uint64_t *)page + 9;
    struct state before, after;
    while (fread(&before, sizeof before, 1, stdin) == 1) {
        memcpy(memory, before.memory, sizeof before.memory);
        enter(&before, &after, sequences[before.place]);
        memcpy(after.memory, memory, sizeof after.memory);
        if (fwrite(&after, sizeof after, 1, stdout) != 1) {
            perror("write");
            return 2;
        }
    }
    return 0;
}

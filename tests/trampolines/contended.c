/* Three threads on what no LSE instruction computes: if one update were lost, what is printed would differ. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, ROUNDS = 20001 };

static uint32_t word, after, unused, weak, sum, congruence = 1;
static uint64_t wide;
static uint16_t half;
static uint8_t byte;
static int zeroed[50000];
static __thread int local = 7;

__attribute__((noinline)) uint32_t nand_word(uint32_t *p, uint32_t v) {
    return __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST);
}
__attribute__((noinline)) uint64_t nand_wide(uint64_t *p, uint64_t v) {
    return __atomic_fetch_nand(p, v, __ATOMIC_RELAXED);
}
__attribute__((noinline)) uint16_t nand_half(uint16_t *p, uint16_t v) {
    return __atomic_fetch_nand(p, v, __ATOMIC_ACQUIRE);
}
__attribute__((noinline)) uint8_t nand_byte(uint8_t *p, uint8_t v) {
    return __atomic_fetch_nand(p, v, __ATOMIC_RELEASE);
}
__attribute__((noinline)) uint32_t nand_after(uint32_t *p, uint32_t v) {
    return __atomic_nand_fetch(p, v, __ATOMIC_ACQ_REL);
}
__attribute__((noinline)) void nand_unused(uint32_t *p, uint32_t v) {
    __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST);
}
__attribute__((noinline)) uint32_t add(uint32_t *p, uint32_t v) {
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}

/* What comes out depends on how often it is done, and not in which order. */
__attribute__((noinline)) uint32_t congruent(uint32_t *p, uint32_t a, uint32_t c) {
    uint32_t old, new, status;
    __asm__ volatile("1: ldaxr %w0, [%3]\n"
                     "   madd %w1, %w0, %w4, %w5\n"
                     "   stlxr %w2, %w1, [%3]\n"
                     "   cbnz %w2, 1b"
                     : "=&r"(old), "=&r"(new), "=&r"(status)
                     : "r"(p), "r"(a), "r"(c)
                     : "memory");
    return old;
}

/* The status is not tested here, so that a compare-and-swap is one word too long. */
__attribute__((noinline)) uint32_t exchange_if(uint32_t *p, uint32_t expected, uint32_t new) {
    uint32_t old, status = 1;
    __asm__ volatile("   ldaxr %w0, [%2]\n"
                     "   cmp %w0, %w3\n"
                     "   b.ne 1f\n"
                     "   stlxr %w1, %w4, [%2]\n"
                     "1:"
                     : "=&r"(old), "+&r"(status)
                     : "r"(p), "r"(expected), "r"(new)
                     : "memory", "cc");
    return status;
}

static void *work(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        nand_word(&word, ~0u);
        nand_wide(&wide, ~0ul);
        nand_half(&half, 0xffff);
        nand_byte(&byte, 0xff);
        nand_after(&after, ~0u);
        nand_unused(&unused, ~0u);
        add(&sum, 1);
        congruent(&congruence, 1664525, 1013904223);
        uint32_t seen;
        do {
            seen = __atomic_load_n(&weak, __ATOMIC_RELAXED);
        } while (exchange_if(&weak, seen, seen + 3));
        local++;
    }
    return argument;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int thread = 0; thread < THREADS; thread++)
        pthread_create(&threads[thread], 0, work, 0);
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], 0);
    void *heap = malloc(1000000);
    printf("%x %lx %x %x %x %x %u %x %u ", word, wide, half, byte, after, unused, sum, congruence, weak);
    printf("%d %d %d\n", zeroed[local], local, heap != 0);
    free(heap);
    return 0;
}

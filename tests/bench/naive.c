/* What some kernels of `deburr bench` do, as anybody would write it: nanoseconds of an operation, the least of some runs. */
#include <stdio.h>
#include <time.h>

static int word;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e9 + at.tv_nsec;
}

#define MEASURE(kernel, variant, operation)                               \
    do {                                                                  \
        double least = 1e9;                                               \
        for (int run = 0; run < 15; run++) {                              \
            double start = now();                                         \
            for (int i = 0; i < 4000000; i++) { operation; }              \
            double each = (now() - start) / 4000000;                      \
            if (each < least) least = each;                               \
        }                                                                 \
        printf("%s\t%s\t%.4f\n", kernel, variant, least);                 \
    } while (0)

int main(void) {
    int expected;
    MEASURE("exchange", "xchg", __atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST));
    MEASURE("store", "xchg", __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST));
    MEASURE("store", "mov and mfence", (*(volatile int *)&word = 1, __builtin_ia32_mfence()));
    MEASURE("fence", "mfence", __builtin_ia32_mfence());
    MEASURE("failing-compare-and-swap", "lock cmpxchg",
            (expected = -1, __atomic_compare_exchange_n(&word, &expected, 2, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)));
    word = 0;
    MEASURE("compare-and-swap", "lock cmpxchg",
            (expected = 0, __atomic_compare_exchange_n(&word, &expected, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)));
    MEASURE("fetch-or", "lock or (no old value)", __atomic_fetch_or(&word, 1, __ATOMIC_SEQ_CST));
    MEASURE("fetch-add", "lock add (no old value)", __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST));
    MEASURE("pause", "pause", __builtin_ia32_pause());
    return 0;
}

/* Every operation on cells of every size, in every order: no update is lost, and no old value is handed out twice. */
#include "contended.h"

enum { ROUNDS = 1000 };

/* What the threads of one cell gathered; one slot each, so that nothing here is shared. */
static uint64_t gathered[THREADS];

static uint64_t gather(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < THREADS; i++)
        sum += gathered[i];
    return sum;
}

/* A step that commutes with itself: after n of them the cell holds the same, whoever took them. */
#define STEP(value) ((value)*5 + 3)

#define CELL(type, name, order, failure)                                                                              \
    static type cell_##name, reached_##name;                                                                          \
    static void add_##name(void)                                                                                      \
    {                                                                                                                 \
        gathered[self] = 0;                                                                                           \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                           \
            gathered[self] += (type)(__atomic_fetch_add(&cell_##name, 1, order) & 127);                               \
            pause_by_chance();                                                                                        \
            gathered[self] += (type)((__atomic_add_fetch(&cell_##name, 1, order) - 1) & 127);                         \
        }                                                                                                             \
    }                                                                                                                 \
    static void subtract_##name(void)                                                                                 \
    {                                                                                                                 \
        type by = (type)(self + 1);                                                                                   \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            __atomic_fetch_sub(&cell_##name, by, order);                                                              \
            pause_by_chance();                                                                                        \
            __atomic_sub_fetch(&cell_##name, (type)1, order);                                                         \
        }                                                                                                             \
    }                                                                                                                 \
    /* Each bit is held by at most one thread; the plain count beside it is safe only while it is. */                 \
    static uint64_t held_##name[8];                                                                                   \
    static void bits_##name(void)                                                                                     \
    {                                                                                                                 \
        for (unsigned done = 0; done < ROUNDS;) {                                                                     \
            unsigned bit = chance() >> 32 & 7;                                                                        \
            type mask = (type)(1u << bit);                                                                            \
            if (__atomic_fetch_or(&cell_##name, mask, order) & mask) {                                                \
                pause_by_chance();                                                                                    \
                continue;                                                                                             \
            }                                                                                                         \
            __atomic_thread_fence(__ATOMIC_SEQ_CST);                                                                  \
            uint64_t seen = held_##name[bit];                                                                         \
            pause_by_chance();                                                                                        \
            held_##name[bit] = seen + 1;                                                                              \
            done++;                                                                                                   \
            __atomic_thread_fence(__ATOMIC_SEQ_CST);                                                                  \
            if (done % 2)                                                                                             \
                __atomic_fetch_and(&cell_##name, (type)~mask, order);                                                 \
            else                                                                                                      \
                __atomic_fetch_xor(&cell_##name, mask, order);                                                        \
        }                                                                                                             \
    }                                                                                                                 \
    /* A thread's own bit is turned by nobody else, so its old value is known. */                                     \
    static void toggle_##name(void)                                                                                   \
    {                                                                                                                 \
        type mask = (type)(1u << self);                                                                               \
        gathered[self] = 0;                                                                                           \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            gathered[self] += !!(__atomic_fetch_xor(&cell_##name, mask, order) & mask);                               \
            pause_by_chance();                                                                                        \
            gathered[self] += !!(__atomic_xor_fetch(&cell_##name, mask, order) & mask);                               \
            gathered[self] += !!(__atomic_or_fetch(&cell_##name, mask, order) & mask);                                \
            gathered[self] += !!(__atomic_and_fetch(&cell_##name, (type)~mask, order) & mask);                        \
        }                                                                                                             \
    }                                                                                                                 \
    /* What is put in is taken out once, or is still there. */                                                        \
    static void exchange_##name(void)                                                                                 \
    {                                                                                                                 \
        uint64_t taken = 0;                                                                                           \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            taken += __atomic_exchange_n(&cell_##name, (type)(i * THREADS + self), order);                            \
            pause_by_chance();                                                                                        \
        }                                                                                                             \
        gathered[self] = taken;                                                                                       \
    }                                                                                                                 \
    static void swap_##name(void)                                                                                     \
    {                                                                                                                 \
        uint64_t turns = 0;                                                                                           \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            type old = __atomic_load_n(&cell_##name, __ATOMIC_RELAXED);                                               \
            while (!__atomic_compare_exchange_n(&cell_##name, &old, (type)STEP(old), i % 2, order, failure))          \
                pause_by_chance();                                                                                    \
            turns++;                                                                                                  \
        }                                                                                                             \
        gathered[self] = turns;                                                                                       \
    }                                                                                                                 \
    static void strong_##name(void)                                                                                   \
    {                                                                                                                 \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            type seen = __atomic_load_n(&cell_##name, __ATOMIC_RELAXED), old;                                         \
            do {                                                                                                      \
                old = seen;                                                                                           \
                __atomic_compare_exchange_n(&cell_##name, &seen, (type)STEP(old), 0, order, failure);                 \
            } while (seen != old);                                                                                    \
        }                                                                                                             \
    }                                                                                                                 \
    static void weak_##name(void)                                                                                     \
    {                                                                                                                 \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            type old = __atomic_load_n(&cell_##name, __ATOMIC_RELAXED);                                               \
            while (!__atomic_compare_exchange_n(&cell_##name, &old, (type)STEP(old), 1, order, failure)) {            \
            }                                                                                                         \
        }                                                                                                             \
    }                                                                                                                 \
    static void maximum_##name(void)                                                                                  \
    {                                                                                                                 \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            type mine = (type)(chance() % 200), old = __atomic_load_n(&cell_##name, __ATOMIC_RELAXED);            \
            if (i == ROUNDS / 2)                                                                                      \
                mine = (type)(200 + self);                                                                            \
            while (old < mine && !__atomic_compare_exchange_n(&cell_##name, &old, mine, 1, order, failure)) {         \
            }                                                                                                         \
            EXTREME(max, type, &reached_##name, mine, order)                                                          \
            pause_by_chance();                                                                                        \
        }                                                                                                             \
    }                                                                                                                 \
    static void minimum_##name(void)                                                                                  \
    {                                                                                                                 \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            type mine = (type)(chance() % 50 + 20), old = __atomic_load_n(&cell_##name, __ATOMIC_RELAXED);            \
            if (i == ROUNDS / 2)                                                                                      \
                mine = (type)(10 - self);                                                                             \
            while (old > mine && !__atomic_compare_exchange_n(&cell_##name, &old, mine, 0, order, failure)) {         \
            }                                                                                                         \
            EXTREME(min, type, &reached_##name, mine, order)                                                          \
            pause_by_chance();                                                                                        \
        }                                                                                                             \
    }                                                                                                                 \
    static void counters_##name(void)                                                                                 \
    {                                                                                                                 \
        uint64_t wanted = 0;                                                                                          \
        type value = 0;                                                                                               \
        contend(add_##name);                                                                                          \
        for (unsigned i = 0; i < 2 * THREADS * ROUNDS; i++)                                                           \
            wanted += i & 127;                                                                                        \
        expect("old values added, " #name, gather(), wanted);                                                         \
        expect("add, " #name, cell_##name, (type)(2 * THREADS * ROUNDS));                                             \
        cell_##name = 0;                                                                                              \
        contend(subtract_##name);                                                                                     \
        expect("subtract, " #name, cell_##name, (type)(-ROUNDS * (THREADS * (THREADS + 1) / 2 + THREADS)));           \
        cell_##name = 0;                                                                                              \
        contend(bits_##name);                                                                                         \
        wanted = 0;                                                                                                   \
        for (unsigned i = 0; i < 8; i++)                                                                              \
            wanted += held_##name[i];                                                                                 \
        expect("bits held, " #name, wanted, THREADS * ROUNDS);                                                        \
        expect("bits left, " #name, cell_##name, 0);                                                                  \
        contend(toggle_##name);                                                                                       \
        expect("own bits, " #name, gather(), THREADS * ROUNDS);                                                       \
        expect("toggle, " #name, cell_##name, 0);                                                                     \
        contend(exchange_##name);                                                                                     \
        wanted = 0;                                                                                                   \
        for (unsigned i = 0; i < THREADS * ROUNDS; i++)                                                               \
            wanted += (type)i;                                                                                        \
        expect("exchange, " #name, gather() + cell_##name, wanted);                                                   \
        cell_##name = 0;                                                                                              \
        contend(swap_##name);                                                                                         \
        expect("turns, " #name, gather(), THREADS * ROUNDS);                                                          \
        contend(strong_##name);                                                                                       \
        contend(weak_##name);                                                                                         \
        for (unsigned i = 0; i < 3 * THREADS * ROUNDS; i++)                                                           \
            value = (type)STEP(value);                                                                                \
        expect("compare-and-swap, " #name, cell_##name, value);                                                       \
        cell_##name = 0;                                                                                              \
        reached_##name = 0;                                                                                           \
        contend(maximum_##name);                                                                                      \
        expect("maximum, " #name, cell_##name, 200 + THREADS - 1);                                                    \
        expect("builtin maximum, " #name, reached_##name, 200 + THREADS - 1);                                         \
        contend(minimum_##name);                                                                                      \
        expect("minimum, " #name, cell_##name, 10 - (THREADS - 1));                                                   \
        expect("builtin minimum, " #name, reached_##name, 10 - (THREADS - 1));                                        \
    }

/* gcc 12 has no builtin for it: what glibc and others write instead. */
#ifdef __clang__
#define EXTREME(which, type, cell, mine, order) __atomic_fetch_##which(cell, mine, order);
#else
#define PICK_max(a, b) ((a) > (b) ? (a) : (b))
#define PICK_min(a, b) ((a) < (b) ? (a) : (b))
#define EXTREME(which, type, cell, mine, order)                                                                       \
    {                                                                                                                 \
        type before, after;                                                                                           \
        do {                                                                                                          \
            before = *(volatile type *)(cell);                                                                        \
            after = PICK_##which(before, mine);                                                                       \
        } while (!__sync_bool_compare_and_swap(cell, before, after));                                                 \
    }
#endif

#define ORDERS(type, size)                                                                                            \
    CELL(type, size##_relaxed, __ATOMIC_RELAXED, __ATOMIC_RELAXED)                                                    \
    CELL(type, size##_acquire, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)                                                    \
    CELL(type, size##_release, __ATOMIC_RELEASE, __ATOMIC_RELAXED)                                                    \
    CELL(type, size##_acq_rel, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)                                                    \
    CELL(type, size##_seq_cst, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
ORDERS(uint8_t, byte)
ORDERS(uint16_t, half)
ORDERS(uint32_t, word)
ORDERS(uint64_t, long)

#define ALL(size)                                                                                                     \
    counters_##size##_relaxed();                                                                                      \
    counters_##size##_acquire();                                                                                      \
    counters_##size##_release();                                                                                      \
    counters_##size##_acq_rel();                                                                                      \
    counters_##size##_seq_cst();

int main(int count, char **arguments)
{
    take_seed(count, arguments);
    ALL(byte)
    ALL(half)
    ALL(word)
    ALL(long)
    return faults;
}

/* Spin locks and reader-writer locks of every size: what they guard is written by one thread at a time, and read by none
   meanwhile. */
#include "contended.h"

enum { ROUNDS = 8000, WORDS = 4 };

/* Plain data: the words are equal whenever nobody is writing. */
static volatile uint64_t guarded[WORDS];
static uint64_t torn[THREADS];

static void write_guarded(void)
{
    uint64_t next = guarded[0] + 1;
    for (unsigned i = 0; i < WORDS; i++) {
        guarded[i] = next;
        if (i == WORDS / 2)
            pause_by_chance();
    }
}

static void read_guarded(void)
{
    uint64_t first = guarded[0];
    pause_by_chance();
    for (unsigned i = 1; i < WORDS; i++)
        torn[self] += guarded[i] != first;
}

static void settle(const char *what, void (*body)(void), uint64_t writes)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < WORDS; i++)
        guarded[i] = 0;
    for (unsigned i = 0; i < THREADS; i++)
        torn[i] = 0;
    contend(body);
    for (unsigned i = 0; i < THREADS; i++)
        sum += torn[i];
    printf("%s: ", what);
    expect("written", guarded[WORDS - 1], writes);
    printf("%s: ", what);
    expect("torn", sum, 0);
}

/* More threads than cores: a holder that does not run is waited for. */
static void wait_a_little(unsigned *turns)
{
    if (++*turns % 64 == 0)
        sched_yield();
}

#define SPIN(name, take, leave)                                                                                       \
    static void name(void)                                                                                            \
    {                                                                                                                 \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            unsigned turns = 0;                                                                                       \
            while (!(take))                                                                                           \
                wait_a_little(&turns);                                                                                \
            write_guarded();                                                                                          \
            leave;                                                                                                    \
            pause_by_chance();                                                                                        \
        }                                                                                                             \
    }

static _Bool flag;
SPIN(test_and_set, !__atomic_test_and_set(&flag, __ATOMIC_ACQUIRE), __atomic_clear(&flag, __ATOMIC_RELEASE))

static uint8_t swapped_byte, compared_byte, synced_byte;
static uint16_t swapped_half, compared_half;
static uint32_t swapped_word, compared_word;
static uint64_t swapped_long, compared_long;

#define SWAPPED(name, one)                                                                                            \
    SPIN(swap_##name, !__atomic_exchange_n(&swapped_##name, one, __ATOMIC_ACQUIRE),                                   \
         __atomic_store_n(&swapped_##name, 0, __ATOMIC_RELEASE))
SWAPPED(byte, 1)
SWAPPED(half, 0x8000)
SWAPPED(word, self + 1)
SWAPPED(long, 1ull << 40)

/* The holder's number is what is compared on the way out. */
#define COMPARED(type, name, weak)                                                                                    \
    static int enter_##name(type mine)                                                                                \
    {                                                                                                                 \
        type free = 0;                                                                                                \
        return __atomic_compare_exchange_n(&compared_##name, &free, mine, weak, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);  \
    }                                                                                                                 \
    static int leave_##name(type mine)                                                                                \
    {                                                                                                                 \
        return __atomic_compare_exchange_n(&compared_##name, &mine, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);        \
    }                                                                                                                 \
    SPIN(compare_##name, enter_##name((type)(self + 1)), torn[self] += !leave_##name((type)(self + 1)))
COMPARED(uint8_t, byte, 0)
COMPARED(uint16_t, half, 1)
COMPARED(uint32_t, word, 0)
COMPARED(uint64_t, long, 1)

SPIN(sync_lock, !__sync_lock_test_and_set(&synced_byte, 1), __sync_lock_release(&synced_byte))

/* Tickets of two bytes each come round to 0. */
static uint16_t next_ticket, served;
static void ticket(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned turns = 62;
        uint16_t mine = __atomic_fetch_add(&next_ticket, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&served, __ATOMIC_ACQUIRE) != mine)
            wait_a_little(&turns);
        write_guarded();
        __atomic_fetch_add(&served, 1, __ATOMIC_RELEASE);
    }
}

/* Readers count in the low bits, the writer is the highest. */
#define READER_WRITER(type, name)                                                                                     \
    static type state_##name;                                                                                         \
    static void compare_rw_##name(void)                                                                               \
    {                                                                                                                 \
        const type writer = (type)1 << (8 * sizeof(type) - 1);                                                        \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            unsigned turns = 0;                                                                                       \
            type old = __atomic_load_n(&state_##name, __ATOMIC_RELAXED);                                              \
            if (i % 4 == self) {                                                                                      \
                for (;;) {                                                                                            \
                    old = 0;                                                                                          \
                    if (__atomic_compare_exchange_n(&state_##name, &old, writer, 0, __ATOMIC_ACQUIRE,                 \
                                                    __ATOMIC_RELAXED))                                                \
                        break;                                                                                        \
                    wait_a_little(&turns);                                                                            \
                }                                                                                                     \
                write_guarded();                                                                                      \
                __atomic_fetch_and(&state_##name, (type)~writer, __ATOMIC_RELEASE);                                   \
            } else {                                                                                                  \
                while (old & writer || !__atomic_compare_exchange_n(&state_##name, &old, (type)(old + 1), 1,          \
                                                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {            \
                    wait_a_little(&turns);                                                                            \
                    old = __atomic_load_n(&state_##name, __ATOMIC_RELAXED);                                           \
                }                                                                                                     \
                read_guarded();                                                                                       \
                __atomic_fetch_sub(&state_##name, 1, __ATOMIC_RELEASE);                                               \
            }                                                                                                         \
        }                                                                                                             \
    }                                                                                                                 \
    /* A reader counts itself first, and takes that back where somebody writes. */                                    \
    static void add_rw_##name(void)                                                                                   \
    {                                                                                                                 \
        const type writer = (type)1 << (8 * sizeof(type) - 1);                                                        \
        for (unsigned i = 0; i < ROUNDS; i++) {                                                                       \
            unsigned turns = 0;                                                                                       \
            if (i % 4 == self) {                                                                                      \
                while (__atomic_fetch_or(&state_##name, writer, __ATOMIC_ACQUIRE) & writer)                           \
                    wait_a_little(&turns);                                                                            \
                while (__atomic_load_n(&state_##name, __ATOMIC_ACQUIRE) != writer)                                    \
                    wait_a_little(&turns);                                                                            \
                write_guarded();                                                                                      \
                __atomic_fetch_xor(&state_##name, writer, __ATOMIC_ACQ_REL);                                          \
            } else {                                                                                                  \
                while (__atomic_add_fetch(&state_##name, 1, __ATOMIC_ACQUIRE) & writer) {                             \
                    __atomic_sub_fetch(&state_##name, 1, __ATOMIC_RELAXED);                                           \
                    wait_a_little(&turns);                                                                            \
                }                                                                                                     \
                read_guarded();                                                                                       \
                __sync_fetch_and_sub(&state_##name, 1);                                                               \
            }                                                                                                         \
        }                                                                                                             \
    }
READER_WRITER(uint8_t, byte)
READER_WRITER(uint16_t, half)
READER_WRITER(uint32_t, word)
READER_WRITER(uint64_t, long)

int main(int count, char **arguments)
{
    take_seed(count, arguments);
#define EXCLUSIVE(body) settle(#body, body, THREADS * ROUNDS);
#define SHARED(body) settle(#body, body, ROUNDS);
    EXCLUSIVE(test_and_set)
    EXCLUSIVE(swap_byte)
    EXCLUSIVE(swap_half)
    EXCLUSIVE(swap_word)
    EXCLUSIVE(swap_long)
    EXCLUSIVE(compare_byte)
    EXCLUSIVE(compare_half)
    EXCLUSIVE(compare_word)
    EXCLUSIVE(compare_long)
    EXCLUSIVE(sync_lock)
    EXCLUSIVE(ticket)
    SHARED(compare_rw_byte)
    SHARED(compare_rw_half)
    SHARED(compare_rw_word)
    SHARED(compare_rw_long)
    SHARED(add_rw_byte)
    SHARED(add_rw_half)
    SHARED(add_rw_word)
    SHARED(add_rw_long)
    return faults;
}

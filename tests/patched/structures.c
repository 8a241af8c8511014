/* Structures without locks: a stack and a queue that lose, double and reorder nothing, references that free each object
   once, and a sequence lock whose readers see one writer's words. */
#include "contended.h"

enum { ROUNDS = 80000, NODES = 24, NONE = 0xffff };

static void wait_a_little(unsigned *turns)
{
    if (++*turns % 64 == 0)
        sched_yield();
}

/* The stack's top: a node's index with a tag above it, which tells a node that came back from one that never left. */
static uint64_t top = NONE;
static uint16_t below[NODES];
static uint64_t owner[NODES], strayed[THREADS];

static void push(uint16_t node)
{
    uint64_t old = __atomic_load_n(&top, __ATOMIC_RELAXED), next;
    do {
        __atomic_store_n(&below[node], (uint16_t)old, __ATOMIC_RELAXED);
        next = ((old >> 16) + 1) << 16 | node;
    } while (!__atomic_compare_exchange_n(&top, &old, next, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static uint16_t pop(void)
{
    uint64_t old = __atomic_load_n(&top, __ATOMIC_ACQUIRE), next;
    do {
        if ((uint16_t)old == NONE)
            return NONE;
        next = ((old >> 16) + 1) << 16 | __atomic_load_n(&below[(uint16_t)old], __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(&top, &old, next, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
    return (uint16_t)old;
}

static void use_stack(void)
{
    uint16_t mine[2];
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned held = 0;
        while (held < 1 + i % COUNT(mine)) {
            uint16_t node = pop();
            if (node == NONE)
                break;
            /* Nobody else has it. */
            strayed[self] += owner[node] != 0;
            owner[node] = self + 1;
            mine[held++] = node;
        }
        pause_by_chance();
        while (held) {
            uint16_t node = mine[--held];
            strayed[self] += owner[node] != self + 1;
            owner[node] = 0;
            push(node);
        }
    }
}

static uint64_t gather(uint64_t *slots)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        sum += slots[i];
        slots[i] = 0;
    }
    return sum;
}

static void stack(void)
{
    uint64_t found = 0, count = 0;
    for (uint16_t node = 0; node < NODES; node++)
        push(node);
    contend(use_stack);
    for (uint16_t node; (node = pop()) != NONE; count++)
        found |= 1ull << node;
    expect("stack: nodes", found, (1ull << NODES) - 1);
    expect("stack: count", count, NODES);
    expect("stack: strayed", gather(strayed), 0);
}

/* Michael and Scott's queue (PODC 1996) on indices with tags of 16 bits; nodes come from the stack. */
static uint32_t head, tail, next[NODES];
static uint64_t value[NODES];
static uint64_t received[THREADS], sum_received[THREADS], sum_sent[THREADS];

static uint32_t tagged(uint32_t old, uint16_t node)
{
    return ((old >> 16) + 1) << 16 | node;
}

static int move(uint32_t *cell, uint32_t old, uint16_t node)
{
    return __atomic_compare_exchange_n(cell, &old, tagged(old, node), 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static int enqueue(uint64_t sent)
{
    uint16_t node = pop();
    if (node == NONE)
        return 0;
    __atomic_store_n(&value[node], sent, __ATOMIC_RELAXED);
    __atomic_store_n(&next[node], tagged(__atomic_load_n(&next[node], __ATOMIC_RELAXED), NONE), __ATOMIC_RELAXED);
    for (;;) {
        uint32_t last = __atomic_load_n(&tail, __ATOMIC_ACQUIRE);
        uint32_t after = __atomic_load_n(&next[(uint16_t)last], __ATOMIC_ACQUIRE);
        if (last != __atomic_load_n(&tail, __ATOMIC_ACQUIRE))
            continue;
        if ((uint16_t)after != NONE) {
            move(&tail, last, (uint16_t)after);
        } else if (move(&next[(uint16_t)last], after, node)) {
            pause_by_chance();
            move(&tail, last, node);
            return 1;
        }
    }
}

static int dequeue(uint64_t *got)
{
    for (;;) {
        uint32_t first = __atomic_load_n(&head, __ATOMIC_ACQUIRE), last = __atomic_load_n(&tail, __ATOMIC_ACQUIRE);
        uint32_t after = __atomic_load_n(&next[(uint16_t)first], __ATOMIC_ACQUIRE);
        if (first != __atomic_load_n(&head, __ATOMIC_ACQUIRE))
            continue;
        if ((uint16_t)first == (uint16_t)last) {
            if ((uint16_t)after == NONE)
                return 0;
            move(&tail, last, (uint16_t)after);
            continue;
        }
        if ((uint16_t)after == NONE)
            continue;
        *got = __atomic_load_n(&value[(uint16_t)after], __ATOMIC_RELAXED);
        if (move(&head, first, (uint16_t)after)) {
            push((uint16_t)first);
            return 1;
        }
    }
}

/* Values carry their sender above their number: each receiver sees the numbers of one sender rise. */
static void use_queue(void)
{
    uint64_t last[THREADS] = {0}, got;
    unsigned turns = 0;
    for (unsigned sent = 1, taken = 0; sent <= ROUNDS || taken < ROUNDS;) {
        if (sent <= ROUNDS && enqueue((uint64_t)self << 32 | sent)) {
            sum_sent[self] += (uint64_t)self << 32 | sent;
            sent++;
        }
        pause_by_chance();
        if (taken < ROUNDS && dequeue(&got)) {
            unsigned from = got >> 32 & (THREADS - 1);
            strayed[self] += (uint32_t)got <= last[from] || got >> 32 != from;
            last[from] = (uint32_t)got;
            sum_received[self] += got;
            received[self]++;
            taken++;
        } else {
            wait_a_little(&turns);
        }
    }
}

static void queue(void)
{
    uint64_t got;
    for (uint16_t node = 0; node < NODES; node++) {
        next[node] = NONE;
        push(node);
    }
    head = tail = pop();
    contend(use_queue);
    expect("queue: received", gather(received), THREADS * ROUNDS);
    expect("queue: sum", gather(sum_received), gather(sum_sent));
    expect("queue: out of order", gather(strayed), 0);
    expect("queue: left", (uint64_t)dequeue(&got), 0);
}

/* A reference is had by adding one to a count that is not 0; who takes the last one away frees the object. */
#define REFERENCES(type, name)                                                                                        \
    static type count_##name[NODES];                                                                                  \
    static uint64_t freed_##name[NODES], is_free_##name[NODES];                                                       \
    static void drop_##name(unsigned object)                                                                          \
    {                                                                                                                 \
        if (__atomic_fetch_sub(&count_##name[object], 1, __ATOMIC_RELEASE) == 1) {                                    \
            __atomic_thread_fence(__ATOMIC_ACQUIRE);                                                                  \
            strayed[self] += is_free_##name[object];                                                                  \
            is_free_##name[object] = 1;                                                                               \
            freed_##name[object]++;                                                                                   \
        }                                                                                                             \
    }                                                                                                                 \
    static int revive_##name(unsigned object)                                                                         \
    {                                                                                                                 \
        type seen = __atomic_load_n(&count_##name[object], __ATOMIC_RELAXED);                                         \
        while (seen)                                                                                                  \
            if (__atomic_compare_exchange_n(&count_##name[object], &seen, (type)(seen + 1), 1, __ATOMIC_ACQUIRE,      \
                                            __ATOMIC_RELAXED))                                                        \
                return 1;                                                                                             \
        return 0;                                                                                                     \
    }                                                                                                                 \
    static void share_##name(void)                                                                                    \
    {                                                                                                                 \
        /* Each thread has one reference to each object from the start. */                                            \
        for (unsigned object = 0; object < NODES; object++) {                                                         \
            for (unsigned i = 0; i < ROUNDS / 200; i++) {                                                              \
                __atomic_fetch_add(&count_##name[object], 1, __ATOMIC_RELAXED);                                       \
                pause_by_chance();                                                                                    \
                strayed[self] += is_free_##name[object];                                                              \
                drop_##name(object);                                                                                  \
            }                                                                                                         \
            drop_##name(object);                                                                                      \
            for (unsigned i = 0; i < 8 && revive_##name(object); i++) {                                               \
                pause_by_chance();                                                                                    \
                strayed[self] += is_free_##name[object];                                                              \
                drop_##name(object);                                                                                  \
            }                                                                                                         \
        }                                                                                                             \
    }                                                                                                                 \
    static void references_##name(void)                                                                               \
    {                                                                                                                 \
        uint64_t freed = 0, once = 0;                                                                                 \
        for (unsigned object = 0; object < NODES; object++)                                                           \
            count_##name[object] = THREADS;                                                                           \
        contend(share_##name);                                                                                        \
        for (unsigned object = 0; object < NODES; object++) {                                                         \
            freed += freed_##name[object];                                                                            \
            once += freed_##name[object] == 1 && count_##name[object] == 0;                                           \
        }                                                                                                             \
        expect("references: freed, " #name, freed, NODES);                                                            \
        expect("references: freed once, " #name, once, NODES);                                                        \
        expect("references: used when free, " #name, gather(strayed), 0);                                             \
    }
REFERENCES(uint8_t, byte)
REFERENCES(uint16_t, half)
REFERENCES(uint32_t, word)
REFERENCES(uint64_t, long)

/* Odd while somebody writes (Boehm, MSPC 2012). */
static uint32_t sequence;
static uint64_t words[4];

static void use_sequence(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned turns = 0;
        uint32_t seen;
        if (i % 4 == self) {
            do {
                while ((seen = __atomic_load_n(&sequence, __ATOMIC_RELAXED)) & 1)
                    wait_a_little(&turns);
            } while (!__atomic_compare_exchange_n(&sequence, &seen, seen + 1, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
            __atomic_thread_fence(__ATOMIC_RELEASE);
            for (unsigned word = 0; word < COUNT(words); word++) {
                __atomic_store_n(&words[word], words[word] + word + 1, __ATOMIC_RELAXED);
                if (word == 1)
                    pause_by_chance();
            }
            __atomic_fetch_add(&sequence, 1, __ATOMIC_RELEASE);
        } else {
            uint64_t copy[COUNT(words)];
            do {
                while ((seen = __atomic_load_n(&sequence, __ATOMIC_ACQUIRE)) & 1)
                    wait_a_little(&turns);
                for (unsigned word = 0; word < COUNT(words); word++)
                    copy[word] = __atomic_load_n(&words[word], __ATOMIC_RELAXED);
                __atomic_thread_fence(__ATOMIC_ACQUIRE);
            } while (__atomic_load_n(&sequence, __ATOMIC_RELAXED) != seen);
            for (unsigned word = 0; word < COUNT(words); word++)
                strayed[self] += copy[word] != copy[0] * (word + 1);
        }
    }
}

static void sequence_lock(void)
{
    contend(use_sequence);
    expect("sequence lock: sequence", sequence, 2 * ROUNDS);
    expect("sequence lock: last word", words[COUNT(words) - 1], COUNT(words) * ROUNDS);
    expect("sequence lock: torn", gather(strayed), 0);
}

int main(int count, char **arguments)
{
    take_seed(count, arguments);
    stack();
    queue();
    references_byte();
    references_half();
    references_word();
    references_long();
    sequence_lock();
    return faults;
}

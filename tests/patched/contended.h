/* What the contended programs share: threads that begin together, random delays by a seed, and results that do not depend on
   the schedule. A program prints one line for each result and ends with status 1 if one is not what it must be. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { THREADS = 4 };

static uint64_t seed;
static int faults;
static pthread_barrier_t start;
static __thread uint64_t state;
static __thread unsigned self;

/* xorshift64* */
static uint64_t chance(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dull;
}

/* Mostly nothing, often a few turns, seldom the rest of the time slice. */
static void pause_by_chance(void)
{
    uint64_t drawn = chance() >> 40;
    if (drawn % 8 == 0)
        for (volatile unsigned turns = drawn / 8 % 128; turns; turns--) {
        }
    if (drawn % 1024 == 1)
        sched_yield();
}

static void expect(const char *what, uint64_t found, uint64_t wanted)
{
    printf("%s %#llx\n", what, (unsigned long long)found);
    if (found != wanted) {
        printf("%s should be %#llx\n", what, (unsigned long long)wanted);
        faults = 1;
    }
}

struct task {
    void (*body)(void);
    unsigned self;
};

static void *begin(void *argument)
{
    struct task *task = argument;
    self = task->self;
    state = (seed + 1) * 0x9e3779b97f4a7c15ull + self;
    chance();
    pthread_barrier_wait(&start);
    task->body();
    return 0;
}

/* Runs the body in all threads; they begin together. */
static void contend(void (*body)(void))
{
    pthread_t threads[THREADS];
    struct task tasks[THREADS];
    pthread_barrier_init(&start, 0, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        tasks[i] = (struct task){body, i};
        if (pthread_create(&threads[i], 0, begin, &tasks[i]))
            abort();
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
}

static void take_seed(int count, char **arguments)
{
    seed = count > 1 ? strtoull(arguments[1], 0, 0) : 0;
}

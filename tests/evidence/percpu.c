/* A counter that is added to in a loop, for which nothing waits. VALUE: by the form that returns a value. */
int counter;

__attribute__((noinline)) void count(int *at, long times) {
    do {
#ifdef VALUE
        __atomic_fetch_add(at, 1, __ATOMIC_RELAXED);
#else
        __asm__ volatile("stadd %w1, %0" : "+Q"(*at) : "r"(1));
#endif
    } while (--times);
}

int main(void) {
    count(&counter, 10);
    return counter == 10 ? 0 : 1;
}

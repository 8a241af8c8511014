/* A compare-and-swap loop that only adds, or the operation itself. */
long counter;

__attribute__((noinline)) void add(long *at, long by) {
#ifdef DIRECT
    __atomic_fetch_add(at, by, __ATOMIC_SEQ_CST);
#else
    long old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(at, &old, old + by, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {}
#endif
}

int main(void) {
    add(&counter, 3);
    return counter != 3;
}

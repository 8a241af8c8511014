/* A lock that tries to take the line with every look, or that looks first. */
static int word;

__attribute__((noinline)) void take(int *at) {
    int free = 0;
#ifdef LOOK_FIRST
    for (;;) {
        while (__atomic_load_n(at, __ATOMIC_RELAXED)) __asm__ volatile("isb");
        free = 0;
        if (__atomic_compare_exchange_n(at, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    }
#else
    while (!__atomic_compare_exchange_n(at, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) free = 0;
#endif
}

int main(void) {
    take(&word);
    return word != 1;
}

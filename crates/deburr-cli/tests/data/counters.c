// A library whose atomics were compiled in three ways. INLINE: exclusives inline; otherwise calls of libgcc's helpers.
typedef long word;

#ifdef INLINE
word counter_add(word *counter, word amount) {
    return __atomic_fetch_add(counter, amount, __ATOMIC_SEQ_CST);
}

word counter_swap(word *counter, word value) {
    return __atomic_exchange_n(counter, value, __ATOMIC_ACQ_REL);
}

_Bool counter_replace(word *counter, word expected, word value) {
    return __atomic_compare_exchange_n(counter, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// It tries again at once where the lock is taken, as clang writes it.
void lock(unsigned *state) {
    unsigned was, failed;
    __asm__ volatile("1: ldaxr %w0, [%2]\n\tcbnz %w0, 1b\n\tstxr %w1, %w3, [%2]\n\tcbnz %w1, 1b"
                     : "=&r"(was), "=&r"(failed)
                     : "r"(state), "r"(1)
                     : "memory");
}

// More words than a replacement in the same place has.
word counter_nand(word *counter, word mask) {
    return __atomic_fetch_nand(counter, mask, __ATOMIC_RELAXED);
}

// One instruction is all that changes, on every CPU.
void wait_for(unsigned *flag) {
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) __asm__ volatile("yield");
}
#else
word counter_or(word *counter, word bits) {
    return __atomic_fetch_or(counter, bits, __ATOMIC_SEQ_CST) & 1;
}

void counter_drop(word *counter) {
    __atomic_fetch_add(counter, -1, __ATOMIC_RELEASE);
}
#endif

/* The same counter with the builtins from before C11, or with their successors. */
long counter;

__attribute__((noinline)) long count(long *at) {
#ifdef C11
    return __atomic_fetch_add(at, 1, __ATOMIC_SEQ_CST);
#else
    return __sync_fetch_and_add(at, 1);
#endif
}

int main(void) { return count(&counter) != 0; }

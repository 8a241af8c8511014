/* A store that later loads must not pass, by a fence or as one exchange. */
static int flag, other;

__attribute__((noinline)) int publish(int *at) {
#ifdef MFENCE
    __atomic_store_n(at, 1, __ATOMIC_RELEASE);
    __asm__ volatile("mfence" ::: "memory");
#else
    __atomic_store_n(at, 1, __ATOMIC_SEQ_CST);
#endif
    return __atomic_load_n(&other, __ATOMIC_RELAXED);
}

int main(void) {
    return publish(&flag);
}

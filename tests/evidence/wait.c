/* Waits for another thread; PAUSE is what it does meanwhile. */
int ready;

__attribute__((noinline)) void wait_for(int *at) {
    while (!__atomic_load_n(at, __ATOMIC_ACQUIRE)) __asm__ volatile(PAUSE);
}

int main(void) {
    ready = 1;
    wait_for(&ready);
    return 0;
}

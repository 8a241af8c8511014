/* A loop that pauses before it loads, so that its pause runs once although there is nothing to wait for. */
static int ready = 1;

__attribute__((noinline)) static void wait_for(int *at) {
    do {
        __asm__ volatile("yield");
    } while (!__atomic_load_n(at, __ATOMIC_ACQUIRE));
}

int main(void) {
    wait_for(&ready);
    return 0;
}

/* An atomic counter: which instructions it becomes is up to the flags. */
long counter;

int main(void) {
    for (int i = 0; i < 1000; i++) __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
    return counter != 1000;
}

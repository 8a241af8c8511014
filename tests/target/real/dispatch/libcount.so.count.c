int count(int *word) { return __atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST); }

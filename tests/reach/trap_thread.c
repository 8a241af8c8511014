/* A thread's function uses AVX2, and the thread is started unasked. */
#include "x86_64.h"
#include <pthread.h>

int numbers[8] = {1, 2, 3};

AVX2 static void *thread_avx2(void *x) { TWICE_AVX2((int *)x); return "avx2"; }

int main(void) {
    pthread_t thread;
    void *done = NULL;
    pthread_create(&thread, NULL, thread_avx2, numbers);
    pthread_join(thread, &done);
    return puts(done) < 0;
}

/* The function is never called but handed to the thread library, behind the check. */
#include "x86_64.h"
#include <pthread.h>

int numbers[8] = {1, 2, 3};
AVX2 static void *thread_avx2(void *x) { TWICE_AVX2((int *)x); return "avx2"; }
PLAIN static void *thread_plain(void *x) { TWICE_PLAIN((int *)x); return "plain"; }

int main(void) {
    pthread_t thread;
    void *done = NULL;
    if (detect_avx2())
        pthread_create(&thread, NULL, thread_avx2, numbers);
    else
        pthread_create(&thread, NULL, thread_plain, numbers);
    pthread_join(thread, &done);
    return puts(done) < 0;
}

/* The flag says what the CPU has until the program waits for another thread, which sets it. */
#include "aarch64.h"
#include <pthread.h>

int number = 1;
static int use_lse, is_asked, is_done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

static void *set(void *unused) {
    pthread_mutex_lock(&lock);
    while (!is_asked) pthread_cond_wait(&changed, &lock);
    use_lse = is_done = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}
APART const char *add(int *x) { return use_lse ? add_lse(x) : add_plain(x); }

int main(void) {
    pthread_t other;
    if (pthread_create(&other, NULL, set, NULL)) return 1;
    pthread_mutex_lock(&lock);
    use_lse = getauxval(AT_HWCAP) & HWCAP_ATOMICS ? 1 : 0;
    is_asked = 1;
    pthread_cond_broadcast(&changed);
    while (!is_done) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return puts(add(&number)) < 0;
}

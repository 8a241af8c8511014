/* It asks for AVX2, and calls what needs it without: through a pointer that one function keeps and another, large one calls. Neither
   of them asks. */
#include "x86_64.h"

static int numbers[8];

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

static const char *(*kept)(int *);
static __thread const char *(*kept_by_thread)(int *);

__attribute__((noinline)) void keep(const char *(*function)(int *)) {
#ifdef BY_THREAD
    kept_by_thread = function;
#else
    kept = function;
#endif
}

/* Too large to be worth a look if nothing here has to do with the CPU. */
__attribute__((noinline)) const char *large(int *x) {
    __asm__ volatile(".rept 400\n movl $1, %%eax\n .endr" : : : "eax");
#ifdef BY_THREAD
    return kept_by_thread(x);
#else
    return kept(x);
#endif
}

int main(void) {
    if (__builtin_cpu_supports("avx2")) __asm__ volatile("");
    keep(twice_avx2);
    return puts(large(numbers)) < 0;
}

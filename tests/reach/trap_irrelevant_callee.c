/* It calls what needs AVX2 after a check, and once without: through a pointer that one function keeps and another, large one calls.
   Neither of them asks. */
#include "x86_64.h"

static int numbers[8];

AVX2 const char *twice_avx2(int *x) { TWICE_AVX2(x); return "avx2"; }

struct box { const char *(*function)(int *); };

#if defined BY_THREAD
static __thread struct box box;
#define KEPT box.function
#elif defined BY_LINK
static struct box box, *volatile link = &box;
#define KEPT link->function
#elif defined BY_HEAP
static struct box *heap;
#define KEPT heap->function
#else
static struct box box;
#define KEPT box.function
#endif

/* Too large to be worth a look if nothing here has to do with the CPU. */
#define LARGE __asm__ volatile(".rept 400\n movl $1, %%eax\n .endr" : : : "eax")

#ifdef BY_HEAP
__attribute__((noinline)) void give(struct box *box) { LARGE; heap = box; }
#else
__attribute__((noinline)) void keep(const char *(*function)(int *)) { box.function = function; }
#endif

__attribute__((noinline)) const char *large(int *x) { LARGE; return KEPT(x); }

int main(void) {
    if (__builtin_cpu_supports("avx2")) twice_avx2(numbers);
#ifdef BY_HEAP
    struct box *box = malloc(sizeof *box);
    if (!box) return 1;
    give(box);
    box->function = twice_avx2;
#else
    keep(twice_avx2);
#endif
    return puts(large(numbers)) < 0;
}

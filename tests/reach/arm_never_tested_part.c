/* The same in a library that is entered without arguments. What its host says may come in as what a function returns (BY_IMPORT), as an
   object (BY_OBJECT), as the argument of a function that the host is given to call (BY_CALLBACK), or of the exported one
   (BY_ARGUMENT). */
#include "aarch64.h"

struct visitor {
    long kept;
    const char *(*visit)(int *);
};
int host_level(void);
extern int host_word;
void host_call(void (*callback)(int));

static int number = 1;
#define HIDDEN __attribute__((noinline, visibility("hidden")))
HIDDEN const char *with_sve(int *x) {
    __asm__ volatile(".arch armv8-a+sve\n\tcntb x9" ::: "x9");
    return "sve";
}
HIDDEN const char *with_crc32(int *x) {
    __asm__ volatile(".arch armv8-a+crc\n\tcrc32b %w0, %w0, %w0" : "+r"(*x));
    return "crc32";
}
HIDDEN const char *plain(int *x) { return ADD_PLAIN(x) ? "plain" : "nothing"; }
HIDDEN void begin(struct visitor *visitor) { visitor->visit = plain; }

static struct visitor *current;
HIDDEN void prepare(int level) {
    if (level)
        current->visit = with_sve;
}

static const char *visited(void) {
    __asm__ volatile("" : "+r"(current) : : "memory");
    if (getauxval(AT_HWCAP) >> 7 & 1)
        with_crc32(&number);
    return current->visit(&number);
}

HIDDEN void start(void) {
    current = calloc(1, sizeof *current);
    begin(current);
}

#ifdef BY_ARGUMENT
const char *visit(int level) {
    start();
    prepare(level);
    return visited();
}
#else
const char *visit(void) {
    start();
#if defined BY_IMPORT
    prepare(host_level());
#elif defined BY_OBJECT
    prepare(host_word);
#elif defined BY_CALLBACK
    host_call(prepare);
#else
    prepare(number);
#endif
    return visited();
}
#endif

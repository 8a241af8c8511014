/* Two words are stored by one instruction and loaded by another, and the second has the answer. */
#include "aarch64.h"

int number = 1;
static struct { unsigned asked, words; } found;
APART const char *add_lse(int *x) { ADD_LSE(x); return "lse"; }
APART const char *add_plain(int *x) { ADD_PLAIN(x); return "plain"; }

APART void detect(unsigned asked) {
    unsigned words = getauxval(AT_HWCAP);
    __asm__ volatile("stp %w0, %w1, [%2]" ::"r"(asked), "r"(words), "r"(&found) : "memory");
}

APART static const char *(*choose(void))(int *) {
    unsigned asked, words;
    __asm__ volatile("ldp %w0, %w1, [%2]" : "=&r"(asked), "=&r"(words) : "r"(&found) : "memory");
    return words & HWCAP_ATOMICS ? add_lse : add_plain;
}

int main(int count, char **arguments) {
    (void)arguments;
    detect(count > 9);
    return puts(choose()(&number)) < 0;
}

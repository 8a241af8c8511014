// A global object's constructor, in a translation unit compiled with -mavx2 (trap_initializer_wide.cc): it runs before main asks.
extern "C" {
#include "x86_64.h"
}
extern int table[8];

int main() { return puts(table[0] == 2 ? "avx2" : "plain") < 0; }

// Calls functions of its own and of a library a known number of times: for callgrind.
#include <stdio.h>

unsigned library_work(unsigned n);

__attribute__((noinline)) static unsigned work(unsigned n) {
  unsigned h = 1;
  for (unsigned i = 0; i < n; i++)
    h = h * 31 + i;
  return h;
}

__attribute__((noinline)) static unsigned outer(unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 3; i++)
    sum += work(n + i);
  return sum;
}

__attribute__((noinline)) static unsigned recursive(unsigned n) { return n == 0 ? 1 : recursive(n - 1) * 3 + work(n); }

int main(int argc, char **argv) {
  unsigned sum = outer(1000 * argc) + library_work(500) + library_work(700) + recursive(4);
  return sum == 7;
}

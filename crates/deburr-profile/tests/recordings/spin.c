// Works in two functions, touches memory, and forks a child that works before it becomes another program.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned work(unsigned n) {
  unsigned h = 1;
  for (unsigned i = 0; i < n; i++)
    h = h * 31 + i;
  return h;
}

__attribute__((noinline)) static unsigned outer(unsigned n) { return work(n) + 1; }

int main(int argc, char **argv) {
  unsigned n = argc > 1 ? atoi(argv[1]) : 20000000;
  unsigned sum = outer(n) + work(n / 2);
  volatile char *memory = malloc(1 << 20);
  for (int i = 0; i < 1 << 20; i += 4096)
    memory[i] = 1;
  if (fork() == 0) {
    sum += outer(n);
    execl("/bin/true", "true", (char *)NULL);
  }
  wait(NULL);
  printf("%u\n", sum);
}

// Makes two functions at run time, in anonymous memory, and writes a jitdump of them: jit FOLDER. The second one takes the
// place of the first, so that only the time tells them apart.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// mov eax, edi; loop: imul eax, eax, 31; dec edi; jnz loop; ret
static const uint8_t first[] = {0x89, 0xf8, 0x6b, 0xc0, 0x1f, 0xff, 0xcf, 0x75, 0xf9, 0xc3};
// mov eax, edi; loop: imul eax, eax, 33; nop; dec edi; jnz loop; ret
static const uint8_t second[] = {0x89, 0xf8, 0x6b, 0xc0, 0x21, 0x90, 0xff, 0xcf, 0x75, 0xf8, 0xc3};

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void load(FILE *dump, const char *name, const uint8_t *code, uint64_t size, uint64_t address, uint64_t index) {
  uint32_t total = 56 + strlen(name) + 1 + size;
  struct { uint32_t id, size; uint64_t time; uint32_t pid, tid; uint64_t vma, address, size2, index; } record = {
      0, total, now(), getpid(), getpid(), address, address, size, index};
  fwrite(&record, 56, 1, dump);
  fwrite(name, strlen(name) + 1, 1, dump);
  fwrite(code, size, 1, dump);
  fflush(dump);
}

int main(int argc, char **argv) {
  char path[256];
  snprintf(path, sizeof path, "%s/jit-%d.dump", argv[1], getpid());
  FILE *dump = fopen(path, "w+");
  struct { uint32_t magic, version, size, machine, pad, pid; uint64_t time, flags; } header = {
      0x4a695444, 1, 40, 62, 0, getpid(), now(), 0};
  fwrite(&header, 40, 1, dump);
  fflush(dump);
  // Its mapping is what says where the jitdump is.
  mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
  uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned (*call)(unsigned) = (unsigned (*)(unsigned))memory;
  memcpy(memory, first, sizeof first);
  load(dump, "times_31", first, sizeof first, (uint64_t)memory, 0);
  unsigned sum = call(30000000);
  memcpy(memory, second, sizeof second);
  load(dump, "times_33", second, sizeof second, (uint64_t)memory, 1);
  sum += call(60000000);
  printf("%u\n", sum);
  fclose(dump);
}

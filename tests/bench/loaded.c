// Programs whose work is a number, and loads beside which they run (scripts/loaded).
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void spin(double milliseconds) {
    uint32_t x = 1;
    for (uint64_t i = 0, n = (uint64_t)(milliseconds * 700e3); i < n; i++) {
        x = x * 1664525u + 1013904223u;
        __asm__ volatile("" : : "r"(x));
    }
}

static void nap(double milliseconds) {
    struct timespec t = {(time_t)(milliseconds / 1e3), (long)(milliseconds * 1e6) % 1000000000L};
    nanosleep(&t, NULL);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void disk(const char *name, long blocks) {
    static char block[4096];
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (long i = 0; blocks < 0 || i < blocks; i++) {
        if (pwrite(fd, block, sizeof block, (i % 4096) * 4096) != sizeof block || fdatasync(fd) != 0) _exit(1);
    }
    close(fd);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    double amount = count > 2 ? atof(words[2]) : 0;
    if (!strcmp(what, "spin")) spin(amount);
    else if (!strcmp(what, "sleep")) nap(amount);
    else if (!strcmp(what, "mixed")) for (int i = 0; i < 5; i++) spin(amount / 10), nap(amount / 10);
    else if (!strcmp(what, "disk")) disk(words[3], (long)amount);
    else if (!strcmp(what, "busy")) for (;;) spin(1e6);
    else if (!strcmp(what, "bursts")) for (;;) {
        for (double end = now() + 0.3; now() < end;) spin(1);
        nap(300);
    }
    else if (!strcmp(what, "stream")) {
        size_t size = 64 << 20;
        char *a = malloc(size), *b = malloc(size);
        for (int i = 0;; i++) memset(a, i, size), memcpy(b, a, size);
    }
    else if (!strcmp(what, "sync")) disk(words[3], -1);
    else return 2;
    return 0;
}

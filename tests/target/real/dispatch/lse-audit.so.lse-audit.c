#define _GNU_SOURCE
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

unsigned la_version(unsigned version) { return version; }

/* DIR/libx.so -> DIR/lse/libx.so */
char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag) {
    static char other[PATH_MAX];
    const char *slash = strrchr(name, '/');
    (void)cookie, (void)flag;
    if (!slash || !(getauxval(AT_HWCAP) & HWCAP_ATOMICS)) return (char *)name;
    int length = snprintf(other, sizeof other, "%.*s/lse%s", (int)(slash - name), name, slash);
    return length < (int)sizeof other && access(other, R_OK) == 0 ? other : (char *)name;
}
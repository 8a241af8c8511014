/* Says for which level it is compiled, and for which the plug-in that it finds relative to itself. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __AVX2__
#define LEVEL "x86-64-v3"
#else
#define LEVEL "the lowest level"
#endif

#ifdef PLUG_IN
int say_level(void) {
    return puts(LEVEL);
}
#else
int main(void) {
    char path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length < 0)
        return 1;
    path[length] = 0;
    char *name = strrchr(path, '/');
    if (name == NULL)
        return 1;
    strcpy(name, "/../lib/prog/level.so");
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "prog: %s\n", dlerror());
        return 1;
    }
    int (*say_level)(void) = (int (*)(void))dlsym(library, "say_level");
    return say_level == NULL || puts(LEVEL) < 0 || say_level() < 0;
}
#endif

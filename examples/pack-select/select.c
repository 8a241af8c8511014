/* Opens the variant of a library that runs best on this CPU, and prints what its function `name` returns.
 *
 *     deburr pack selector -o sdk
 *     cc -Isdk select.c -Lsdk -ldeburr-select -ldl -Wl,-rpath,'$ORIGIN/sdk'
 */
#include "deburr_select.h"
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments) {
    char path[4096];
    const char *library = count > 1 ? arguments[1] : "";
    int result = deburr_select(library, path, sizeof path);
    if (result < 0 && result != DEBURR_NO_TABLE) {
        fprintf(stderr, "%s: %s\n", library, deburr_select_message(result));
        return -result;
    }
    /* Without a table there are no variants: the library itself is what there is. */
    void *opened = dlopen(result > 0 ? path : library, RTLD_NOW);
    const char *(*name)(void) = opened ? (const char *(*)(void))dlsym(opened, "name") : NULL;
    if (!name) {
        fprintf(stderr, "%s\n", dlerror());
        return 100;
    }
    puts(name());
    return 0;
}

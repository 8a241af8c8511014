/* Which variant of a library runs best on this CPU.
 *
 * In: a table beside the library, `LIBRARY.deburr`, as `deburr pack assemble` writes it. Out: the path of a variant, to be
 * opened instead. Compile deburr_select.c into your program, or link with libdeburr-select (`deburr pack selector`
 * writes both); they need nothing but libc, any of glibc and musl. C11, C++11.
 *
 *     char path[4096];
 *     int result = deburr_select(library, path, sizeof path);
 *     if (result > 0)
 *         handle = dlopen(path, RTLD_NOW);
 *     else if (result == DEBURR_NO_TABLE)
 *         handle = dlopen(library, RTLD_NOW);     it has no variants
 */
#ifndef DEBURR_SELECT_H
#define DEBURR_SELECT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why no variant was selected: negative results of deburr_select. */
enum deburr_select_error {
    DEBURR_NO_TABLE = -1,     /* LIBRARY.deburr cannot be read, or no memory is left; errno says why */
    DEBURR_BAD_TABLE = -2,    /* LIBRARY.deburr is no table, is cut short, or is for another architecture */
    DEBURR_NONE_RUNS = -3,    /* every variant needs more than this CPU has */
    DEBURR_NOT_FOUND = -4,    /* variants that run here are not where the table says, or are of another build */
    DEBURR_TOO_LONG = -5,     /* the path does not fit into the buffer */
    DEBURR_UNKNOWN_LEVEL = -6, /* DEBURR_LEVEL selects a variant that does not run here */
    DEBURR_RELATIVE = -7 /* AT_SECURE is set, and the path is relative */
};

/* The version of this interface; it grows with each function or result that is added. None goes away. */
enum { DEBURR_SELECT_VERSION = 1 };

/* Selects a variant of `library`, the path by which it would be opened without variants. Links are not resolved: the table
 * is beside the name that is given.
 *
 * Writes the variant's path, with a NUL, into `path`, which has `size` bytes; where it fails, `path` stays as it is.
 * Returns the path's length without the NUL, or a negative deburr_select_error.
 *
 * Environment: DEBURR_LEVEL=LEVEL selects that variant, or fails where it does not run here; where the library has no variant
 * of that level, it is ignored. DEBURR_EXPLAIN=1 writes a line to the standard error.
 * Both are ignored, and relative paths are refused, where the program runs with more rights than its user (AT_SECURE).
 *
 * Threads may call it at the same time, but, as for getenv, not while another one changes the environment. It takes
 * 5 KiB of the stack and frees what it allocates. Not for signal handlers. */
int deburr_select(const char *library, char *path, size_t size);

/* DEBURR_SELECT_VERSION of the library that is loaded. */
int deburr_select_version(void);

/* One line, without a line feed, that says what a result of deburr_select means. */
const char *deburr_select_message(int result);

#ifdef __cplusplus
}
#endif
#endif

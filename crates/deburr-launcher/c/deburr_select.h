/* Which variant of a library or program runs best on this CPU.
 *
 * In: a table beside the library, `LIBRARY.deburr`, as `deburr pack assemble` writes it. Out: the path of a variant.
 * Compile deburr_select.c into your program, or link with libdeburr-select; both need nothing but libc.
 */
#ifndef DEBURR_SELECT_H
#define DEBURR_SELECT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why no variant was selected: negative results of deburr_select. */
enum deburr_select_error {
    DEBURR_NO_TABLE = -1,     /* LIBRARY.deburr cannot be read; errno says why */
    DEBURR_BAD_TABLE = -2,    /* LIBRARY.deburr is no table, is cut short, or is for another architecture */
    DEBURR_NONE_RUNS = -3,    /* every variant needs more than this CPU has */
    DEBURR_NOT_FOUND = -4,    /* variants that run here are not where the table says */
    DEBURR_TOO_LONG = -5,     /* the path does not fit into the buffer */
    DEBURR_UNKNOWN_LEVEL = -6 /* DEBURR_LEVEL selects a level that has no variant, or that does not run here */
};

/* Selects a variant of `library`, the path by which it would be opened without variants.
 *
 * Writes the variant's path, with a NUL, into `path`, which has `size` bytes. Returns its length without the NUL, or a
 * negative deburr_select_error. The environment variable DEBURR_LEVEL overrides the choice; it is ignored where the
 * program runs with more rights than its user (AT_SECURE). Thread-safe; allocates nothing. */
int deburr_select(const char *library, char *path, size_t size);

/* One line, without a line feed, that says what a result of deburr_select means. */
const char *deburr_select_message(int result);

#ifdef __cplusplus
}
#endif
#endif

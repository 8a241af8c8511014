/* The rule by which a variant is selected, and the selector for libraries that are opened by name.
 *
 * In: a table (src/table.rs states its layout) and what the CPU and the operating system offer. Out: the variants that
 * run here, in the order in which to try them. launcher.c includes this file with DEBURR_RULE_ONLY and has no libc;
 * everything below that macro's end is the selector, which has.
 *
 * Sources: Intel SDM volume 2, CPUID; volume 1, 13.3 (XCR0); AMD APM volume 3, appendix E; Linux,
 * Documentation/arch/arm64/elf_hwcaps.rst and cpu-feature-registers.rst (MIDR_EL1 is read by emulation).
 */
#include <stddef.h>
#include <stdint.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "deburr_select.c: expected x86-64 or AArch64"
#endif

enum { DEBURR_WORDS = 12, DEBURR_MOST_VARIANTS = 16, DEBURR_MOST_PREFERRED = 8, DEBURR_NO_VARIANT = 255 };

/* The words by which needs are stated; AArch64 uses the first four, for AT_HWCAP and AT_HWCAP2. */
enum deburr_word {
    DEBURR_LEAF1_ECX,
    DEBURR_LEAF1_EDX,
    DEBURR_LEAF7_EBX,
    DEBURR_LEAF7_ECX,
    DEBURR_LEAF7_EDX,
    DEBURR_EXTENDED_ECX,
    DEBURR_EXTENDED_EDX,
    DEBURR_XCR0,
    /* Read only where a variant needs a bit of them. */
    DEBURR_LEAF7_1_EAX,
    DEBURR_LEAF7_1_EDX,
    DEBURR_LEAF13_1_EAX,
    DEBURR_EXTENDED8_EBX
};

struct deburr_variant {
    uint32_t need[DEBURR_WORDS];
    uint16_t level; /* offset of its name */
    uint16_t path;  /* offset of its path */
    uint16_t build_id; /* offset of its build ID in hexadecimal digits, or 0 */
    uint16_t marker;   /* offset of the path of a file that is there only where all files of the variant are, or 0 */
    uint64_t payload; /* where it is in the launcher's own file, or 0 */
    uint64_t size;    /* of the payload; of a file of its own, the bytes that are loaded; 0 where it is not stated */
};

struct deburr_model {
    uint32_t maker;
    uint32_t signature;
    uint8_t order[DEBURR_MOST_PREFERRED];
};

struct deburr_bit {
    uint8_t word;
    uint8_t bit;
    uint16_t name; /* offset */
};

struct deburr_table {
    char magic[8];
    uint32_t size;
    uint16_t variants;
    uint16_t models;
    uint16_t bits;
    uint16_t prefix; /* offset of the installed folder, or 0 */
    uint16_t machine;
    uint16_t flags;
};

/* Flags of a table. */
enum {
    DEBURR_OWN_TREE = 1 /* argv[0] becomes the path of the variant, with its name as it is; the launcher's folders are no links */
};

#ifdef __cplusplus
#define DEBURR_ASSERT static_assert
#else
#define DEBURR_ASSERT _Static_assert
#endif
DEBURR_ASSERT(sizeof(struct deburr_table) == 24, "the head");
DEBURR_ASSERT(sizeof(struct deburr_variant) == 72, "a variant");
DEBURR_ASSERT(sizeof(struct deburr_model) == 16, "a model");
DEBURR_ASSERT(sizeof(struct deburr_bit) == 4, "a bit's name");

/* What this machine offers. */
struct deburr_cpu {
    uint32_t have[DEBURR_WORDS];
    uint32_t maker;
    uint32_t signature;
};

static inline const struct deburr_variant *deburr_variants(const struct deburr_table *table) {
    return (const struct deburr_variant *)(const void *)(table + 1);
}

static inline const struct deburr_model *deburr_models(const struct deburr_table *table) {
    return (const struct deburr_model *)(const void *)(deburr_variants(table) + table->variants);
}

static inline const struct deburr_bit *deburr_bits(const struct deburr_table *table) {
    return (const struct deburr_bit *)(const void *)(deburr_models(table) + table->models);
}

static inline const char *deburr_string(const struct deburr_table *table, uint16_t offset) {
    return (const char *)table + offset;
}

#ifdef __x86_64__
enum { DEBURR_MACHINE = 62 };

struct deburr_leaf {
    uint32_t eax, ebx, ecx, edx;
};

static inline struct deburr_leaf deburr_cpuid(uint32_t leaf, uint32_t below) {
    struct deburr_leaf out;
    __asm__ volatile("cpuid" : "=a"(out.eax), "=b"(out.ebx), "=c"(out.ecx), "=d"(out.edx) : "a"(leaf), "c"(below));
    return out;
}

/* The words of leaves that few variants need. Leaf 7 states its highest subleaf, which the caller passes on. */
static inline void deburr_read_more(struct deburr_cpu *cpu, uint32_t highest, uint32_t highest_of_7) {
    struct deburr_leaf seven = {0, 0, 0, 0}, state = {0, 0, 0, 0}, extended = {0, 0, 0, 0};
    if (highest_of_7 >= 1)
        seven = deburr_cpuid(7, 1);
    if (highest >= 13)
        state = deburr_cpuid(13, 1);
    if (deburr_cpuid(0x80000000, 0).eax >= 0x80000008)
        extended = deburr_cpuid(0x80000008, 0);
    cpu->have[DEBURR_LEAF7_1_EAX] = seven.eax;
    cpu->have[DEBURR_LEAF7_1_EDX] = seven.edx;
    cpu->have[DEBURR_LEAF13_1_EAX] = state.eax;
    cpu->have[DEBURR_EXTENDED8_EBX] = extended.ebx;
}

/* At most four CPUIDs, or eight where `needs_more`: each is an exit to the hypervisor in a virtual machine. Every CPU in 64-bit mode has leaf 0x80000001.
 * Leaf 7 is asked for where it exists: a leaf beyond the highest returns the data of another one (SDM). Leaf 0 states the
 * highest; so does OSXSAVE, because Linux enables XSAVE only where there is leaf 0xd (arch/x86/kernel/fpu/xstate.c). */
static inline void deburr_read_cpu(struct deburr_cpu *cpu, uint64_t hwcap, uint64_t hwcap2, int needs_maker, int needs_more) {
    struct deburr_leaf zero = {0, 0, 0, 0}, one = deburr_cpuid(1, 0), seven = {0, 0, 0, 0};
    struct deburr_leaf extended = deburr_cpuid(0x80000001, 0);
    uint32_t xcr0 = 0, high = 0;
    int has_xsave = one.ecx >> 27 & 1;
    (void)hwcap;
    (void)hwcap2;
    if (needs_maker || needs_more || !has_xsave)
        zero = deburr_cpuid(0, 0);
    if (has_xsave || zero.eax >= 7)
        seven = deburr_cpuid(7, 0);
    if (has_xsave)
        __asm__ volatile("xgetbv" : "=a"(xcr0), "=d"(high) : "c"(0));
    cpu->have[DEBURR_LEAF1_ECX] = one.ecx;
    cpu->have[DEBURR_LEAF1_EDX] = one.edx;
    cpu->have[DEBURR_LEAF7_EBX] = seven.ebx;
    cpu->have[DEBURR_LEAF7_ECX] = seven.ecx;
    cpu->have[DEBURR_LEAF7_EDX] = seven.edx;
    cpu->have[DEBURR_EXTENDED_ECX] = extended.ecx;
    cpu->have[DEBURR_EXTENDED_EDX] = extended.edx;
    cpu->have[DEBURR_XCR0] = xcr0;
    if (needs_more)
        deburr_read_more(cpu, zero.eax, has_xsave || zero.eax >= 7 ? seven.eax : 0);
    cpu->maker = zero.ebx;
    cpu->signature = one.eax & 0x0fff3ff0;
}
#else
enum { DEBURR_MACHINE = 183 };

static inline void deburr_read_cpu(struct deburr_cpu *cpu, uint64_t hwcap, uint64_t hwcap2, int needs_maker, int needs_more) {
    uint64_t midr = 0;
    (void)needs_maker;
    (void)needs_more;
    /* HWCAP_CPUID: the kernel emulates reads of identification registers. On a machine with cores of several kinds it
     * is that of the core that this runs on; what they all have is in the two words. */
    if (hwcap & (1u << 11))
        __asm__ volatile("mrs %0, midr_el1" : "=r"(midr));
    cpu->have[0] = (uint32_t)hwcap;
    cpu->have[1] = (uint32_t)(hwcap >> 32);
    cpu->have[2] = (uint32_t)hwcap2;
    cpu->have[3] = (uint32_t)(hwcap2 >> 32);
    for (int word = 4; word < DEBURR_WORDS; word++)
        cpu->have[word] = 0;
    cpu->maker = (uint32_t)(midr >> 24) & 0xff;
    cpu->signature = (uint32_t)(midr >> 4) & 0xfff;
}
#endif

static inline int deburr_runs(const struct deburr_variant *variant, const struct deburr_cpu *cpu) {
    uint32_t missing = 0;
    for (int word = 0; word < DEBURR_WORDS; word++)
        missing |= variant->need[word] & ~cpu->have[word];
    return missing == 0;
}

/* Whether a variant needs a bit of the words that are not read otherwise. */
static inline int deburr_needs_more(const struct deburr_table *table) {
    uint32_t needed = 0;
    for (unsigned index = 0; index < table->variants; index++) {
        for (int word = DEBURR_LEAF7_1_EAX; word < DEBURR_WORDS; word++)
            needed |= deburr_variants(table)[index].need[word];
    }
    return needed != 0;
}

/* The variants that run here, in the order in which to try them: those that this CPU model prefers, then the table's
 * order, in which none comes before one that needs more. Returns how many. */
static inline unsigned deburr_choose(const struct deburr_table *table, const struct deburr_cpu *cpu,
                                     uint8_t order[DEBURR_MOST_VARIANTS]) {
    const struct deburr_variant *variants = deburr_variants(table);
    const struct deburr_model *models = deburr_models(table);
    uint32_t taken = 0;
    unsigned count = 0;
    for (unsigned model = 0; model < table->models; model++) {
        if (models[model].maker != cpu->maker || models[model].signature != cpu->signature)
            continue;
        for (unsigned place = 0; place < DEBURR_MOST_PREFERRED; place++) {
            uint8_t index = models[model].order[place];
            if (index >= table->variants || taken >> index & 1 || !deburr_runs(&variants[index], cpu))
                continue;
            taken |= 1u << index;
            order[count++] = index;
        }
        break;
    }
    for (unsigned index = 0; index < table->variants; index++) {
        if (!(taken >> index & 1) && deburr_runs(&variants[index], cpu))
            order[count++] = (uint8_t)index;
    }
    return count;
}

static inline uint64_t deburr_number(const unsigned char *bytes, unsigned size) {
    uint64_t value = 0;
    while (size-- > 0)
        value = value << 8 | bytes[size];
    return value;
}

/* Whether notes hold this build ID (gABI, "Note Section"): GNU's (type 3), or Go's (type 4), as hexadecimal digits. */
static inline int deburr_has_build_id(const unsigned char *notes, uint64_t size, const char *build_id) {
    static const char digits[17] = "0123456789abcdef";
    while (size >= 12) {
        uint64_t name = deburr_number(notes, 4), length = deburr_number(notes + 4, 4), type = deburr_number(notes + 8, 4);
        uint64_t at = 12 + ((name + 3) & ~(uint64_t)3), next = at + ((length + 3) & ~(uint64_t)3);
        if (at + length > size)
            return 0;
        int is_gnu = name == 4 && type == 3 && notes[12] == 'G' && notes[13] == 'N' && notes[14] == 'U';
        int is_go = name == 4 && type == 4 && notes[12] == 'G' && notes[13] == 'o' && notes[14] == 0;
        if (is_gnu || is_go) {
            const char *wanted = build_id;
            uint64_t byte = 0;
            while (byte < length && wanted[0] == digits[notes[at + byte] >> 4] && wanted[1] == digits[notes[at + byte] & 15])
                wanted += 2, byte++;
            if (byte == length && *wanted == 0)
                return 1;
        }
        if (next > size)
            return 0;
        notes += next;
        size -= next;
    }
    return 0;
}

/* Whether `size` bytes are a table that can be read without a further check: every offset is that of a string that
 * ends inside. */
static inline int deburr_is_table(const struct deburr_table *table, size_t size) {
    static const char magic[8] = {'d', 'e', 'b', 'u', 'r', 'r', 'T', '2'};
    const char *bytes = (const char *)table;
    if (size < sizeof *table || table->size > size || table->size < sizeof *table)
        return 0;
    for (unsigned at = 0; at < sizeof magic; at++) {
        if (bytes[at] != magic[at])
            return 0;
    }
    size_t strings = sizeof *table + table->variants * sizeof(struct deburr_variant) +
                     table->models * sizeof(struct deburr_model) + table->bits * sizeof(struct deburr_bit);
    if (table->machine != DEBURR_MACHINE || table->variants == 0 || table->variants > DEBURR_MOST_VARIANTS ||
        strings >= table->size || bytes[table->size - 1] != 0)
        return 0;
    /* The last string ends with the table, so any offset among the strings is that of one that ends inside. */
#define DEBURR_IS_STRING(offset) ((offset) >= strings && (offset) < table->size)
    if (table->prefix != 0 && !DEBURR_IS_STRING(table->prefix))
        return 0;
    for (unsigned index = 0; index < table->variants; index++) {
        const struct deburr_variant *variant = &deburr_variants(table)[index];
        if (!DEBURR_IS_STRING(variant->level) || !DEBURR_IS_STRING(variant->path) ||
            (variant->build_id != 0 && !DEBURR_IS_STRING(variant->build_id)) ||
            (variant->marker != 0 && !DEBURR_IS_STRING(variant->marker)))
            return 0;
    }
    for (unsigned index = 0; index < table->bits; index++) {
        const struct deburr_bit *bit = &deburr_bits(table)[index];
        if (!DEBURR_IS_STRING(bit->name) || bit->word >= DEBURR_WORDS || bit->bit > 31)
            return 0;
    }
#undef DEBURR_IS_STRING
    return 1;
}

#ifndef DEBURR_RULE_ONLY
#include "deburr_select.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

/* The longest table (src/table.rs refuses longer ones), and the longest path that is composed. */
enum { DEBURR_TABLE_SIZE = 65536, DEBURR_PATH_SIZE = 4096 };

/* Reads a whole file, of at most `size` bytes, or returns -1 with errno. */
static long deburr_read(const char *path, char *bytes, size_t size) {
    size_t length = 0;
    /* A pipe must not make it wait. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return -1;
    while (length < size) {
        ssize_t got = read(file, bytes + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int reason = errno;
            close(file);
            errno = reason;
            return -1;
        }
        if (got == 0)
            break;
        length += (size_t)got;
    }
    close(file);
    return (long)length;
}

/* Reads at a place of a file: how many bytes, or -1. */
static long deburr_read_at(int file, unsigned char *bytes, size_t size, uint64_t at) {
    ssize_t got;
    do
        got = at > INT64_MAX ? -1 : pread(file, bytes, size, (off_t)at);
    while (got < 0 && errno == EINTR);
    return (long)got;
}

/* Whether an open file is the library of a variant: an ELF file for this architecture (gABI, chapters 4 and 5), with the build
 * ID that the table states, or else as long as it states. */
static int deburr_is_variant_in(int file, const struct deburr_variant *variant, const char *build_id) {
    unsigned char head[64], header[56], notes[1024];
    uint64_t loaded = 0;
    int has_build_id = build_id == NULL;
    if (deburr_read_at(file, head, sizeof head, 0) != (long)sizeof head || memcmp(head, "\177ELF\002\001", 6) != 0 ||
        deburr_number(head + 18, 2) != DEBURR_MACHINE || deburr_number(head + 54, 2) != sizeof header)
        return 0;
    uint64_t at = deburr_number(head + 32, 8);
    for (uint64_t left = deburr_number(head + 56, 2); left > 0; left--, at += sizeof header) {
        if (deburr_read_at(file, header, sizeof header, at) != (long)sizeof header)
            return 0;
        uint64_t offset = deburr_number(header + 8, 8), length = deburr_number(header + 32, 8);
        uint64_t type = deburr_number(header, 4);
        if (type == 1 && offset + length > loaded)
            loaded = offset + length;
        if (type == 4 && !has_build_id) {
            long got = deburr_read_at(file, notes, length < sizeof notes ? length : sizeof notes, offset);
            has_build_id = got > 0 && deburr_has_build_id(notes, (uint64_t)got, build_id);
        }
    }
    return has_build_id && (build_id != NULL || variant->size == 0 || variant->size == loaded);
}

static int deburr_is_variant(const char *path, const struct deburr_variant *variant, const char *build_id) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return 0;
    int is_variant = deburr_is_variant_in(file, variant, build_id);
    close(file);
    return is_variant;
}

/* Selects by a table that is read into `table`; `*name` becomes the level's name, a string of the table. */
static int deburr_select_by(struct deburr_table *table, const char *level, const char *library, char *path,
                            size_t size, const char **name) {
    char composed[DEBURR_PATH_SIZE];
    uint8_t order[DEBURR_MOST_VARIANTS];
    struct deburr_cpu cpu;
    size_t length = strlen(library), folder = length;
    if (length + sizeof ".deburr" > sizeof composed)
        return DEBURR_TOO_LONG;
    memcpy(composed, library, length);
    memcpy(composed + length, ".deburr", sizeof ".deburr");
    long got = deburr_read(composed, (char *)table, DEBURR_TABLE_SIZE);
    if (got < 0)
        return DEBURR_NO_TABLE;
    if (!deburr_is_table(table, (size_t)got))
        return DEBURR_BAD_TABLE;
    while (folder > 0 && library[folder - 1] != '/')
        folder--;
    deburr_read_cpu(&cpu, getauxval(AT_HWCAP), getauxval(AT_HWCAP2), table->models > 0, deburr_needs_more(table));
    unsigned count = deburr_choose(table, &cpu, order);
    int result = count == 0 ? DEBURR_NONE_RUNS : DEBURR_NOT_FOUND;
    int is_known = 0;
    for (unsigned index = 0; level && index < table->variants; index++)
        is_known |= strcmp(level, deburr_string(table, deburr_variants(table)[index].level)) == 0;
    if (!is_known)
        level = NULL;
    if (level)
        result = DEBURR_UNKNOWN_LEVEL;
    for (unsigned place = 0; place < count; place++) {
        const struct deburr_variant *variant = &deburr_variants(table)[order[place]];
        const char *relative = deburr_string(table, variant->path);
        size_t more = strlen(relative);
        if (level) {
            if (strcmp(level, deburr_string(table, variant->level)) != 0)
                continue;
            result = DEBURR_NOT_FOUND;
        }
        if (folder + more >= sizeof composed)
            return DEBURR_TOO_LONG;
        memcpy(composed, library, folder);
        memcpy(composed + folder, relative, more + 1);
        if (!deburr_is_variant(composed, variant, variant->build_id ? deburr_string(table, variant->build_id) : NULL))
            continue;
        if (folder + more >= size)
            return DEBURR_TOO_LONG;
        memcpy(path, composed, folder + more + 1);
        *name = deburr_string(table, variant->level);
        return (int)(folder + more);
    }
    return result;
}

/* One line on the standard error, in one call, so that lines of several threads stay whole. */
static void deburr_explain(const char *library, const char *first, const char *between, const char *last) {
    const char *texts[] = {"deburr: ", library, ": ", first, between, last, "\n"};
    struct iovec parts[sizeof texts / sizeof *texts];
    for (unsigned at = 0; at < sizeof texts / sizeof *texts; at++) {
        parts[at].iov_base = (void *)(uintptr_t)texts[at];
        parts[at].iov_len = strlen(texts[at]);
    }
    /* Nobody reads it where the standard error is closed. */
    if (writev(STDERR_FILENO, parts, sizeof texts / sizeof *texts) < 0)
        return;
}

int deburr_select(const char *library, char *path, size_t size) {
    int is_secure = getauxval(AT_SECURE) != 0;
    const char *level = is_secure ? NULL : getenv("DEBURR_LEVEL");
    const char *explain = is_secure ? NULL : getenv("DEBURR_EXPLAIN");
    const char *name = "";
    /* The caller's user chooses the current folder, and so what a relative path leads to. */
    if (is_secure && library[0] != '/')
        return DEBURR_RELATIVE;
    /* Not on the stack: a thread of musl has 128 KiB of it. */
    struct deburr_table *table = (struct deburr_table *)malloc(DEBURR_TABLE_SIZE);
    if (!table)
        return DEBURR_NO_TABLE;
    int result = deburr_select_by(table, level, library, path, size, &name);
    int reason = errno;
    if (explain && *explain && result < 0)
        deburr_explain(library, "no variant: ", "", deburr_select_message(result));
    else if (explain && *explain)
        deburr_explain(library, name, ", ", path);
    free(table);
    errno = reason;
    return result;
}

int deburr_select_version(void) {
    return DEBURR_SELECT_VERSION;
}

const char *deburr_select_message(int result) {
    switch (result) {
    case DEBURR_NO_TABLE:
        return "the table beside the library cannot be read";
    case DEBURR_BAD_TABLE:
        return "the table beside the library is damaged, or is for another architecture";
    case DEBURR_NONE_RUNS:
        return "every variant of the library needs more than this CPU and its operating system offer";
    case DEBURR_NOT_FOUND:
        return "no variant of the library that runs here is where its table says, or it is of another build";
    case DEBURR_TOO_LONG:
        return "the path does not fit into the buffer";
    case DEBURR_UNKNOWN_LEVEL:
        return "DEBURR_LEVEL selects a variant that does not run here";
    case DEBURR_RELATIVE:
        return "the path is relative, and the program runs with more rights than its user";
    default:
        return result < 0 ? "unknown error" : "a variant was selected";
    }
}
#endif

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

enum { DEBURR_WORDS = 8, DEBURR_MOST_VARIANTS = 16, DEBURR_MOST_PREFERRED = 8, DEBURR_NO_VARIANT = 255 };

/* The words by which needs are stated; AArch64 uses the first four, for AT_HWCAP and AT_HWCAP2. */
enum deburr_word {
    DEBURR_LEAF1_ECX,
    DEBURR_LEAF1_EDX,
    DEBURR_LEAF7_EBX,
    DEBURR_LEAF7_ECX,
    DEBURR_LEAF7_EDX,
    DEBURR_EXTENDED_ECX,
    DEBURR_EXTENDED_EDX,
    DEBURR_XCR0
};

struct deburr_variant {
    uint32_t need[DEBURR_WORDS];
    uint16_t level; /* offset of its name */
    uint16_t path;  /* offset of its path */
    uint32_t unused;
    uint64_t payload; /* where it is in the launcher's own file */
    uint64_t payload_size;
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
    uint16_t unused;
};

_Static_assert(sizeof(struct deburr_table) == 24, "the head");
_Static_assert(sizeof(struct deburr_variant) == 56, "a variant");
_Static_assert(sizeof(struct deburr_model) == 16, "a model");
_Static_assert(sizeof(struct deburr_bit) == 4, "a bit's name");

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

static inline struct deburr_leaf deburr_cpuid(uint32_t leaf) {
    struct deburr_leaf out;
    __asm__ volatile("cpuid" : "=a"(out.eax), "=b"(out.ebx), "=c"(out.ecx), "=d"(out.edx) : "a"(leaf), "c"(0));
    return out;
}

/* Four CPUIDs: each is an exit to the hypervisor in a virtual machine. Every CPU in 64-bit mode has leaf 0x80000001. */
static inline void deburr_read_cpu(struct deburr_cpu *cpu, uint64_t hwcap, uint64_t hwcap2) {
    struct deburr_leaf zero = deburr_cpuid(0), one = deburr_cpuid(1), seven = {0, 0, 0, 0};
    struct deburr_leaf extended = deburr_cpuid(0x80000001);
    uint32_t xcr0 = 0, high = 0;
    (void)hwcap;
    (void)hwcap2;
    /* A leaf beyond the highest returns the data of another one (SDM). */
    if (zero.eax >= 7)
        seven = deburr_cpuid(7);
    if (one.ecx & (1u << 27))
        __asm__ volatile("xgetbv" : "=a"(xcr0), "=d"(high) : "c"(0));
    cpu->have[DEBURR_LEAF1_ECX] = one.ecx;
    cpu->have[DEBURR_LEAF1_EDX] = one.edx;
    cpu->have[DEBURR_LEAF7_EBX] = seven.ebx;
    cpu->have[DEBURR_LEAF7_ECX] = seven.ecx;
    cpu->have[DEBURR_LEAF7_EDX] = seven.edx;
    cpu->have[DEBURR_EXTENDED_ECX] = extended.ecx;
    cpu->have[DEBURR_EXTENDED_EDX] = extended.edx;
    cpu->have[DEBURR_XCR0] = xcr0;
    cpu->maker = zero.ebx;
    cpu->signature = one.eax & 0x0fff3ff0;
}
#else
enum { DEBURR_MACHINE = 183 };

static inline void deburr_read_cpu(struct deburr_cpu *cpu, uint64_t hwcap, uint64_t hwcap2) {
    uint64_t midr = 0;
    /* HWCAP_CPUID: the kernel emulates reads of identification registers. On a machine with cores of several kinds it
     * is that of the core that this runs on; what they all have is in the two words. */
    if (hwcap & (1u << 11))
        __asm__ volatile("mrs %0, midr_el1" : "=r"(midr));
    cpu->have[0] = (uint32_t)hwcap;
    cpu->have[1] = (uint32_t)(hwcap >> 32);
    cpu->have[2] = (uint32_t)hwcap2;
    cpu->have[3] = (uint32_t)(hwcap2 >> 32);
    cpu->have[4] = cpu->have[5] = cpu->have[6] = cpu->have[7] = 0;
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

/* Whether `size` bytes are a table that can be read without a further check: every offset is that of a string that
 * ends inside. */
static inline int deburr_is_table(const struct deburr_table *table, size_t size) {
    static const char magic[8] = {'d', 'e', 'b', 'u', 'r', 'r', 'T', '1'};
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
        if (!DEBURR_IS_STRING(variant->level) || !DEBURR_IS_STRING(variant->path))
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

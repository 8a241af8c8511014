/* The launcher: starts the variant of a program that this CPU runs best.
 *
 * In: the table that follows this code in its own file (src/table.rs), the CPU, the auxiliary vector. Out: execve of a
 * variant, with the arguments, the environment, the descriptors and the signals as they came; or one line for each
 * thing that is wrong, and exit status 126 (found, but it cannot run) or 127 (not found).
 *
 * It is freestanding: no libc, no heap, no relocations, nothing that is written but the stack. src/program.rs puts the
 * code into an ELF file; the first bytes are a mark by which a launcher is recognised, so that none starts another.
 *
 * With DEBURR_SINGLE_FILE it is another launcher, whose variants are in its own file (unpack.c).
 *
 * A program that runs with more rights than its user (AT_SECURE) ignores DEBURR_* of the environment, takes that and what a loader
 * follows out of it, and looks for variants only in the absolute folder that its table names: a hard link elsewhere must not choose
 * what runs with those rights.
 */
#define DEBURR_RULE_ONLY
#include "deburr_select.c"

enum { PATH_SIZE = 4096, HEAD_SIZE = 1024, MARK_AT = 0x100 };

/* Follows the code, in the same segment. */
extern const char deburr_own_table[] __attribute__((visibility("hidden")));

/* System calls (Linux, the two architectures' syscall tables). */
#ifdef __x86_64__
enum { NR_READ = 0, NR_WRITE = 1, NR_CLOSE = 3, NR_LSEEK = 8, NR_PREAD = 17, NR_EXECVE = 59, NR_EXIT = 231, NR_OPENAT = 257, NR_READLINKAT = 267, NR_FACCESSAT = 269 };

static long call_5(long number, long a, long b, long c, long d, long e) {
    long result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth) : "rcx", "r11", "memory");
    return result;
}

/* The entry: a mark, then the code that passes the initial stack on (psABI, 3.4.1). */
__asm__(".section .mark,\"ax\"\n"
        ".ascii \"deburrL1\"\n"
        ".globl _start\n"
        "_start:\n"
        "xor %ebp, %ebp\n"
        "mov %rsp, %rdi\n"
        "and $-16, %rsp\n"
        "call start\n"
        "ud2\n"
        ".text\n");
#else
enum { NR_READ = 63, NR_WRITE = 64, NR_CLOSE = 57, NR_LSEEK = 62, NR_PREAD = 67, NR_EXECVE = 221, NR_EXIT = 94, NR_OPENAT = 56, NR_READLINKAT = 78, NR_FACCESSAT = 48 };

static long call_5(long number, long a, long b, long c, long d, long e) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
}

/* The entry: a mark, then the code that passes the initial stack on (AAPCS64: SP is aligned to 16 there). */
__asm__(".section .mark,\"ax\"\n"
        ".ascii \"deburrL1\"\n"
        ".globl _start\n"
        "_start:\n"
        "mov x29, xzr\n"
        "mov x30, xzr\n"
        "mov x0, sp\n"
        "bl start\n"
        "udf #0\n"
        ".text\n");
#endif

static long call(long number, long a, long b, long c, long d) {
    return call_5(number, a, b, c, d, 0);
}

enum { HERE = -100 /* AT_FDCWD */, CLOSE_ON_EXEC = 02000000 /* O_CLOEXEC */, FROM_END = 2 /* SEEK_END */ };
/* O_CLOEXEC, and O_NONBLOCK and O_NOCTTY: what is there instead of a variant, such as a pipe, must not make it wait. */
enum { LOOK = 02000000 | 04000 | 0400 };
enum { PERMISSION = -1, NO_ENTRY = -2, INPUT_OUTPUT = -5, NOT_EXECUTABLE = -8, NO_MEMORY = -12, NO_ACCESS = -13, BUSY = -26, INVALID = -22, NOT_A_FOLDER = -20, NOT_SEEKABLE = -29, NO_SUCH_CALL = -38, TOO_MANY_LINKS = -40 };
/* Whoever trusts a program's exit status must not take what did not run for a success. */
enum { EXPLAINED = 125, CANNOT_RUN = 126, NOT_FOUND = 127 };
enum { HWCAP = 16, SECURE = 23, HWCAP2 = 26, EXECUTED_NAME = 31 }; /* AT_… */

/* A line for the standard error. It is cut where it does not fit. */
struct line {
    unsigned length;
    char bytes[2048];
};

static void add(struct line *line, const char *text) {
    while (*text && line->length < sizeof line->bytes - 1)
        line->bytes[line->length++] = *text++;
}

static void print(struct line *line) {
    line->bytes[line->length++] = '\n';
    call(NR_WRITE, 2, (long)line->bytes, line->length, 0);
    line->length = 0;
}

__attribute__((noreturn)) static void leave(int status) {
    for (;;)
        call(NR_EXIT, status, 0, 0, 0);
}

static int is_same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

/* What follows `name=` in an entry of the environment; null where the entry is another one. */
static const char *value_of(const char *entry, const char *name) {
    while (*name && *entry == *name)
        entry++, name++;
    return *name == 0 && *entry == '=' ? entry + 1 : NULL;
}

/* Appends to a path; 0 where it does not fit. */
static int join(char path[PATH_SIZE], unsigned *length, const char *text) {
    while (*text) {
        if (*length >= PATH_SIZE - 1)
            return 0;
        path[(*length)++] = *text++;
    }
    path[*length] = 0;
    return 1;
}

/* What is to be done, and with what. The first page of the stack is enough for it where nothing goes wrong: each further
 * one is a page fault, which is why messages are built in functions of their own. */
struct launch {
    const char *name; /* of the program, for messages */
    const struct deburr_table *table;
    const char *executed_name; /* AT_EXECFN, or null */
    struct deburr_cpu cpu;
    const char *level;  /* DEBURR_LEVEL, or null */
    int explains;       /* DEBURR_EXPLAIN is set */
    int only_explains;  /* DEBURR_EXPLAIN=exit */
    int is_secure;      /* AT_SECURE */
    char *const *argv;
    char *const *envp;
    unsigned folder_length;
    unsigned climbed; /* so many `../` of the table's paths are done in `folder` */
    unsigned char head[HEAD_SIZE]; /* what is read of a link or of a variant */
    char folder[PATH_SIZE];        /* where the launcher is, with a slash at the end */
};

static void begin(const struct launch *launch, struct line *line) {
    line->length = 0;
    add(line, launch->name);
    add(line, ": ");
}

static const char *level_of(const struct launch *launch, unsigned index) {
    return deburr_string(launch->table, deburr_variants(launch->table)[index].level);
}

/* Adds the names of what a variant needs and this machine lacks. */
static void add_missing(const struct launch *launch, struct line *line, unsigned index) {
    const struct deburr_variant *variant = &deburr_variants(launch->table)[index];
    const char *between = "";
    for (unsigned at = 0; at < launch->table->bits; at++) {
        const struct deburr_bit *bit = &deburr_bits(launch->table)[at];
        uint32_t mask = 1u << bit->bit;
        if (variant->need[bit->word] & mask & ~launch->cpu.have[bit->word]) {
            add(line, between);
            add(line, deburr_string(launch->table, bit->name));
            between = ", ";
        }
    }
    if (variant->need[DEBURR_XCR0] & ~launch->cpu.have[DEBURR_XCR0]) {
        add(line, between);
        add(line, "register state that the operating system has not switched on");
    }
}

/* Cuts a path behind its last slash. */
static void cut_name(char path[PATH_SIZE], unsigned *length) {
    while (*length > 0 && path[*length - 1] != '/')
        --*length;
    path[*length] = 0;
}

/* The path by which this file was executed, with the links followed that its last part names; 0 where it is not known.
 * A path that was open only until the execution, such as /dev/fd/3, may be gone. */
static int follow_links(struct launch *launch, unsigned *length, const char *executed_name) {
    char *path = launch->folder, *target = (char *)launch->head;
    long got;
    if (executed_name == NULL || !join(path, length, executed_name))
        return 0;
    for (int links = 0; (got = call(NR_READLINKAT, HERE, (long)path, (long)target, HEAD_SIZE)) > 0; links++) {
        if (links == 40 || got == HEAD_SIZE)
            return 0;
        target[got] = 0;
        if (target[0] == '/')
            *length = 0;
        cut_name(path, length);
        if (!join(path, length, target))
            return 0;
    }
    return got == INVALID; /* there is such a file, and it is no link */
}

/* Takes the folders off the end of `folder` from which the paths of the table lead up, so that the path of a variant is one that
 * can be read. They are the layout's own, and so no links. */
static void climb(struct launch *launch) {
    const char *path = deburr_string(launch->table, deburr_variants(launch->table)->path);
    while (path[0] == '.' && path[1] == '.' && path[2] == '/' && launch->folder_length > 1) {
        unsigned length = launch->folder_length - 1;
        while (length > 0 && launch->folder[length - 1] != '/')
            length--;
        /* Not a folder's own name: `/`, `./`, `../`. */
        if (length == 0 || launch->folder[length] == '.' || launch->folder[length] == '/')
            return;
        launch->folder[length] = 0;
        launch->folder_length = length;
        launch->climbed++;
        path += 3;
    }
}

/* Appends a path of the table to the folder; 0 where it does not fit. */
static int compose(struct launch *launch, unsigned *length, uint16_t offset) {
    const char *path = deburr_string(launch->table, offset);
    for (unsigned times = 0; times < launch->climbed; times++, path += 3) {
        if (path[0] != '.' || path[1] != '.' || path[2] != '/')
            return 0;
    }
    *length = launch->folder_length;
    return join(launch->folder, length, path);
}

/* The folder of the launcher. /proc/self/exe states it, too, and costs ten times as much. */
static int find_folder(struct launch *launch) {
    char *path = launch->folder;
    unsigned length = 0;
    if (launch->is_secure) {
        if (launch->table->prefix == 0)
            return 0;
        return join(path, &launch->folder_length, deburr_string(launch->table, launch->table->prefix)) &&
               join(path, &launch->folder_length, "/");
    }
    if (!follow_links(launch, &length, launch->executed_name)) {
        long got = call(NR_READLINKAT, HERE, (long)"/proc/self/exe", (long)path, PATH_SIZE - 1);
        if (got <= 0 || path[0] != '/')
            return 0;
        length = (unsigned)got;
    }
    cut_name(path, &length);
    launch->folder_length = length;
    return 1;
}

/* Whether a segment of notes has the variant's build ID. Most are among the first bytes of the file. */
__attribute__((noinline)) static int is_note_of(const struct launch *launch, long file, long got, uint64_t at, uint64_t size, const char *build_id) {
    unsigned char beyond[512];
    if (at <= (uint64_t)got && size <= (uint64_t)got - at)
        return deburr_has_build_id(launch->head + at, size, build_id);
    got = call(NR_PREAD, file, (long)beyond, size < sizeof beyond ? (long)size : (long)sizeof beyond, (long)at);
    return got > 0 && deburr_has_build_id(beyond, (uint64_t)got, build_id);
}

/* What is wrong with the file of a variant; null where nothing is. The ELF gABI, chapters 4 and 5. */
static const char *fault_of(struct launch *launch, long file, unsigned index) {
    const struct deburr_variant *variant = &deburr_variants(launch->table)[index];
    const char *build_id = variant->build_id ? deburr_string(launch->table, variant->build_id) : NULL;
    unsigned char *head = launch->head;
    long size = call(NR_LSEEK, file, 0, FROM_END, 0);
    if (size == NOT_SEEKABLE)
        return "is no regular file";
    long got = call(NR_PREAD, file, (long)head, HEAD_SIZE, 0);
    if (got < 0 || size < 0)
        return "cannot be read";
    if (got < 64 || head[0] != 0x7f || head[1] != 'E' || head[2] != 'L' || head[3] != 'F')
        return "is no ELF file";
    if (head[4] != 2 || head[5] != 1 || deburr_number(head + 18, 2) != DEBURR_MACHINE)
        return "is for another architecture";
    if (got >= MARK_AT + 8 && deburr_number(head + MARK_AT, 8) == 0x314c727275626564 /* "deburrL1" */)
        return "is a launcher itself, and no variant";
    uint64_t at = deburr_number(head + 32, 8), count = deburr_number(head + 56, 2), loaded = 0;
    int has_build_id = build_id == NULL;
    if (deburr_number(head + 54, 2) != 56 || count == 0)
        return "has no program headers";
    for (uint64_t header = 0; header < count; header++, at += 56) {
        unsigned char beyond[56];
        const unsigned char *bytes = beyond;
        if (at <= (uint64_t)got && (uint64_t)got - at >= 56)
            bytes = head + at;
        else if (at > (uint64_t)size || call(NR_PREAD, file, (long)beyond, 56, (long)at) != 56)
            return "is truncated";
        uint64_t type = deburr_number(bytes, 4), offset = deburr_number(bytes + 8, 8), length = deburr_number(bytes + 32, 8);
        if (type == 1 && (offset > (uint64_t)size || length > (uint64_t)size - offset))
            return "is truncated";
        if (type == 1 && offset + length > loaded)
            loaded = offset + length;
        if (type == 4 && !has_build_id)
            has_build_id = is_note_of(launch, file, got, offset, length, build_id);
    }
    /* Tools that strip a file change its size, and not what is loaded of it. */
    if (!has_build_id || (build_id == NULL && variant->payload == 0 && variant->size != 0 && variant->size != loaded))
        return "is of another build";
    return NULL;
}

static const char *reason_of(long error) {
    switch (error) {
    case NO_ENTRY:
        return "needs a program interpreter that is not here";
    case NO_ACCESS:
    case PERMISSION:
        return "cannot be executed: permission denied";
    case NOT_EXECUTABLE:
        return "cannot be executed here";
    case NO_MEMORY:
        return "cannot be executed: no memory";
    case BUSY:
        return "is being written";
    case INPUT_OUTPUT:
        return "cannot be read";
    default:
        return "cannot be executed";
    }
}

__attribute__((noinline)) static void print_fault(const struct launch *launch, unsigned index, int is_path, const char *fault) {
    struct line line;
    begin(launch, &line);
    if (is_path) {
        add(&line, launch->folder);
        add(&line, ": ");
    }
    add(&line, "the variant for ");
    add(&line, level_of(launch, index));
    add(&line, " ");
    add(&line, fault);
    print(&line);
}

__attribute__((noinline)) static void print_start(const struct launch *launch) {
    struct line line;
    begin(launch, &line);
    add(&line, launch->only_explains ? "would start " : "starts ");
    add(&line, launch->folder);
    print(&line);
    if (launch->only_explains)
        leave(EXPLAINED);
}

/* Executes the variant at `path`. Where the table wants it, argv[0] becomes that path, with the name by which the program was
 * called: a program that finds its files by its own name then finds those of its level. The name of a login shell (-sh) stays. */
__attribute__((noinline)) static long execute(struct launch *launch, char path[PATH_SIZE]) {
    char own[PATH_SIZE];
    unsigned length = 0;
    char *const *argv = launch->argv;
    if (launch->table->flags & DEBURR_OWN_TREE && argv[0] && argv[0][0] && argv[0][0] != '-') {
        const char *name = argv[0];
        for (const char *at = name; *at; at++) {
            if (*at == '/')
                name = at + 1;
        }
        if (join(own, &length, path)) {
            cut_name(own, &length);
            /* The array is on this process's stack, where the kernel has put it. */
            if (*name && join(own, &length, name))
                ((char **)argv)[0] = own;
        }
    }
    const char *before = launch->name;
    long error = call(NR_EXECVE, (long)path, (long)argv, (long)launch->envp, 0);
    if (argv[0] == own)
        ((char **)argv)[0] = (char *)before;
    return error;
}

#ifdef DEBURR_SINGLE_FILE
#include "unpack.c"
#endif

/* Starts a variant. Comes back only where that fails: 1 where there is no such file, 2 otherwise, after a message. */
static int try(struct launch *launch, unsigned index) {
    const struct deburr_variant *variant = &deburr_variants(launch->table)[index];
    char *path = launch->folder;
    unsigned length;
    const char *fault = "has too long a path";
#ifdef DEBURR_SINGLE_FILE
    (void)variant, (void)path, (void)length, (void)fault;
    print_fault(launch, index, 0, unpack(launch, index));
    return 2;
#endif
    /* A tree of which only a part is unpacked, or still there, is none. */
    if (variant->marker && (!compose(launch, &length, variant->marker) || call(NR_FACCESSAT, HERE, (long)path, 0, 0) != 0))
        return 1;
    int is_path = compose(launch, &length, variant->path);
    if (is_path) {
        long file = call(NR_OPENAT, HERE, (long)path, LOOK, 0);
        if (file == NO_ENTRY || file == NOT_A_FOLDER)
            return 1;
        fault = file == NO_ACCESS ? "cannot be read: permission denied" : "cannot be opened";
        if (file >= 0) {
            fault = fault_of(launch, file, index);
            call(NR_CLOSE, file, 0, 0, 0);
        }
    }
    if (fault == NULL) {
        if (launch->explains)
            print_start(launch);
        fault = reason_of(execute(launch, path));
    }
    print_fault(launch, index, is_path, fault);
    return 2;
}

/* Puts the variant that DEBURR_LEVEL selects alone into `order`. A level of which there is no variant is meant for another
 * program: that variable is passed on to all that this one starts. */
__attribute__((noinline)) static void select_level(const struct launch *launch, uint8_t *order, unsigned *count) {
    const struct deburr_variant *variants = deburr_variants(launch->table);
    struct line line;
    begin(launch, &line);
    add(&line, "DEBURR_LEVEL=");
    for (unsigned index = 0; index < launch->table->variants; index++) {
        if (!is_same(launch->level, level_of(launch, index)))
            continue;
        order[0] = (uint8_t)index;
        *count = 1;
        if (deburr_runs(&variants[index], &launch->cpu))
            return;
        add(&line, launch->level);
        add(&line, ": this CPU or its operating system lacks ");
        add_missing(launch, &line, index);
        print(&line);
        leave(CANNOT_RUN);
    }
    if (!launch->explains)
        return;
    /* It may be long: only its beginning is shown. */
    for (unsigned at = 0; at < 40 && launch->level[at]; at++)
        line.bytes[line.length++] = launch->level[at];
    add(&line, " is ignored: there are ");
    for (unsigned index = 0; index < launch->table->variants; index++) {
        add(&line, index ? ", " : "");
        add(&line, level_of(launch, index));
    }
    print(&line);
}

/* What of the environment may change which code a program loads, each by its beginning: ours, and what glibc takes out where AT_SECURE is
 * set (sysdeps/generic/unsecvars.h). The kernel sets that for the launcher where a security module gives it another domain (SELinux without
 * noatsecure, AppArmor's Px), and not again for the variant, whose domain is the same: the loader would then follow LD_PRELOAD. */
static const char unsecure[] = "DEBURR_\0LD_\0MALLOC_\0GCONV_PATH=\0GETCONF_DIR=\0GLIBC_TUNABLES=\0HOSTALIASES=\0LOCALDOMAIN=\0LOCPATH=\0"
                               "NIS_PATH=\0NLSPATH=\0RESOLV_HOST_CONF=\0RES_OPTIONS=\0TMPDIR=\0TZDIR=\0";

/* Takes those variables out of the environment, so that this program and its children do not see them. */
__attribute__((noinline)) static void forget_variables(char **entries) {
    char **kept = entries;
    for (; *entries; entries++) {
        const char *mark = unsecure;
        int is_unsecure = 0;
        while (*mark && !is_unsecure) {
            const char *entry = *entries;
            while (*mark && *entry == *mark)
                entry++, mark++;
            is_unsecure = *mark == 0;
            while (*mark)
                mark++;
            mark++;
        }
        if (!is_unsecure)
            *kept++ = *entries;
    }
    *kept = NULL;
}

__attribute__((noinline)) static void explain(const struct launch *launch) {
    struct line line;
    for (unsigned index = 0; index < launch->table->variants; index++) {
        begin(launch, &line);
        add(&line, level_of(launch, index));
        if (deburr_runs(&deburr_variants(launch->table)[index], &launch->cpu)) {
            add(&line, " runs here");
        } else {
            add(&line, " does not run here: lacks ");
            add_missing(launch, &line, index);
        }
        print(&line);
    }
}

/* The one that needs least is last in the table. */
__attribute__((noinline, noreturn)) static void give_up(const struct launch *launch, unsigned count, int is_damaged) {
    struct line line;
    begin(launch, &line);
    if (count == 0) {
        unsigned last = launch->table->variants - 1u;
        add(&line, "needs ");
        add(&line, level_of(launch, last));
        add(&line, " or more; this CPU or its operating system lacks ");
        add_missing(launch, &line, last);
    } else if (is_damaged) {
        add(&line, "no variant could be started; install the program again");
    } else {
        add(&line, "no variant that runs here is in its place below ");
        add(&line, launch->folder_length ? launch->folder : "./");
        add(&line, "; the launcher moves only together with its variants");
    }
    print(&line);
    leave(count == 0 || is_damaged ? CANNOT_RUN : NOT_FOUND);
}

__attribute__((noinline, noreturn)) static void refuse(const struct launch *launch, const char *why) {
    struct line line;
    begin(launch, &line);
    add(&line, why);
    print(&line);
    leave(CANNOT_RUN);
}

__attribute__((used, noreturn)) void start(long *stack) {
    struct launch launch;
    uint8_t order[DEBURR_MOST_VARIANTS];
    uint64_t hwcap = 0, hwcap2 = 0;
    long argc = stack[0];
    launch.argv = (char *const *)(stack + 1);
    launch.envp = launch.argv + argc + 1;
    launch.name = argc > 0 && launch.argv[0] ? launch.argv[0] : "deburr-launcher";
    launch.table = (const struct deburr_table *)(const void *)deburr_own_table;
    launch.level = launch.executed_name = NULL;
    launch.explains = launch.only_explains = launch.is_secure = 0;
    launch.folder_length = launch.climbed = 0;
    char *const *end = launch.envp;
    while (*end)
        end++;
    for (const uint64_t *pair = (const uint64_t *)(end + 1); pair[0]; pair += 2) {
        if (pair[0] == HWCAP)
            hwcap = pair[1];
        else if (pair[0] == HWCAP2)
            hwcap2 = pair[1];
        else if (pair[0] == SECURE)
            launch.is_secure = pair[1] != 0;
        else if (pair[0] == EXECUTED_NAME)
            launch.executed_name = (const char *)pair[1];
    }
    if (!deburr_is_table(launch.table, launch.table->size))
        refuse(&launch, "this launcher has no table of variants; deburr pack assemble adds one");
    if (launch.is_secure)
        forget_variables((char **)launch.envp);
    for (char *const *entry = launch.envp; *entry && !launch.is_secure; entry++) {
        const char *level = value_of(*entry, "DEBURR_LEVEL"), *explains = value_of(*entry, "DEBURR_EXPLAIN");
        if (level && *level)
            launch.level = level;
        if (explains && *explains && !is_same(explains, "0")) {
            launch.explains = 1;
            launch.only_explains = is_same(explains, "exit");
        }
    }
#ifdef DEBURR_SINGLE_FILE
    if (launch.is_secure)
        refuse(&launch, "runs with more rights than its user, and holds its variants itself: refused; install a tree instead");
#endif
    if (!find_folder(&launch))
        refuse(&launch, launch.is_secure
                            ? "runs with more rights than its user, and was assembled without --prefix: refused"
                            : "cannot find its own folder: the path by which it was executed leads nowhere, and /proc is not there");
    if (launch.table->flags & DEBURR_OWN_TREE)
        climb(&launch);
    deburr_read_cpu(&launch.cpu, hwcap, hwcap2, launch.table->models > 0, deburr_needs_more(launch.table));
    unsigned count = deburr_choose(launch.table, &launch.cpu, order);
    if (launch.explains)
        explain(&launch);
    if (launch.level)
        select_level(&launch, order, &count);
    int is_damaged = 0;
    for (unsigned place = 0; place < count; place++) {
        is_damaged |= try(&launch, order[place]) == 2;
        launch.folder[launch.folder_length] = 0;
    }
    give_up(&launch, count, is_damaged);
}

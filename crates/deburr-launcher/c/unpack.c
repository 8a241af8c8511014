/* Starts a variant that is in the launcher's own file: from a cache on disk, or else from memory.
 *
 * In: the payload of a variant, and its path in the table, `HASH/NAME`: the hash is that of the payload's bytes, so that another
 * program never finds the file. Out: the program that runs, or what is wrong. launcher.c includes this.
 *
 * The cache is DEBURR_CACHE, else XDG_CACHE_HOME/deburr, else HOME/.cache/deburr. The first start writes HASH/NAME under
 * another name and renames it, so it is whole or not there, whoever else starts at the same time. Whoever can write to the
 * folder decides what runs: it and the file must belong to the effective user, and nobody else may write to them. They
 * are looked at and executed by the folder's descriptor, so that a link that changes in between leads nowhere else.
 * Where any of that does not hold, and where the cache cannot be written, a copy in memory (memfd_create(2)) is started.
 */
#ifdef __x86_64__
enum { NR_FSTAT = 5, NR_GETPID = 39, NR_SENDFILE = 40, NR_MKDIRAT = 258, NR_UNLINKAT = 263, NR_RENAMEAT = 264, NR_PRLIMIT = 302, NR_MEMFD_CREATE = 319, NR_EXECVEAT = 322 };
enum { FOLDER_ONLY = 0200000, NO_LINK = 0400000 };     /* O_DIRECTORY, O_NOFOLLOW */
enum { STAT_MODE = 24, STAT_USER = 28, STAT_SIZE = 48 }; /* struct stat */
#else
enum { NR_FSTAT = 80, NR_GETPID = 172, NR_SENDFILE = 71, NR_MKDIRAT = 34, NR_UNLINKAT = 35, NR_RENAMEAT = 38, NR_PRLIMIT = 261, NR_MEMFD_CREATE = 279, NR_EXECVEAT = 281 };
enum { FOLDER_ONLY = 040000, NO_LINK = 0100000 };
enum { STAT_MODE = 16, STAT_USER = 24, STAT_SIZE = 48 };
#endif
enum { WRITE_NEW = 0301 /* O_WRONLY | O_CREAT | O_EXCL */, OWNER_ONLY = 0700, FILE_SIZE_LIMIT = 1 /* RLIMIT_FSIZE */ };
enum { ITSELF = 0x1000 /* AT_EMPTY_PATH */, NOT_A_LINK = 0x100 /* AT_SYMLINK_NOFOLLOW */ };
enum { MEMORY_CLOSE_ON_EXEC = 1, MEMORY_EXECUTABLE = 16 }; /* MFD_CLOEXEC, MFD_EXEC */
enum { IS_THERE = -17, EFFECTIVE_USER = 12 /* AT_EUID */, KIND = 0170000, FOLDER_KIND = 0040000, FILE_KIND = 0100000 };

/* Says what starts from the launcher's own file; `folder` is the cache's, or null. */
__attribute__((noinline)) static void print_unpacked(const struct launch *launch, unsigned index, const char *folder,
                                                     const char *name) {
    struct line line;
    begin(launch, &line);
    add(&line, launch->only_explains ? "would start the variant for " : "starts the variant for ");
    add(&line, level_of(launch, index));
    add(&line, folder ? ": " : " from memory");
    if (folder) {
        add(&line, folder);
        add(&line, "/");
        add(&line, name);
    }
    print(&line);
    if (launch->only_explains)
        leave(EXPLAINED);
}

/* The value of a variable of the environment; null where it is not set. */
static const char *variable(const struct launch *launch, const char *name) {
    for (char *const *entry = launch->envp; *entry; entry++) {
        const char *value = value_of(*entry, name);
        if (value)
            return value;
    }
    return NULL;
}

static uint64_t effective_user(const struct launch *launch) {
    char *const *end = launch->envp;
    while (*end)
        end++;
    for (const uint64_t *pair = (const uint64_t *)(end + 1); pair[0]; pair += 2) {
        if (pair[0] == EFFECTIVE_USER)
            return pair[1];
    }
    return UINT64_MAX; /* nobody's */
}

/* The size of a file of a kind that belongs to this user, and to which nobody else can write; -1 where it is not so. */
static int64_t size_of_own(const struct launch *launch, long file, unsigned kind) {
    unsigned char bytes[256]; /* struct stat is shorter */
    if (call(NR_FSTAT, file, (long)bytes, 0, 0) != 0)
        return -1;
    uint64_t mode = deburr_number(bytes + STAT_MODE, 4);
    if ((mode & KIND) != kind || (mode & 022) != 0 || deburr_number(bytes + STAT_USER, 4) != effective_user(launch))
        return -1;
    return (int64_t)deburr_number(bytes + STAT_SIZE, 8);
}

/* Writes a variant of the own file to another one: what is wrong, or null. */
static const char *copy(long own, long to, const struct deburr_variant *variant) {
    uint64_t at = variant->payload, left = variant->size;
    uint64_t limit[2] = {UINT64_MAX, 0};
    /* A file that grew beyond it would end this with a signal. */
    if (call(NR_PRLIMIT, 0, FILE_SIZE_LIMIT, 0, (long)limit) == 0 && limit[0] < left)
        return "cannot be unpacked: the limit of file sizes (ulimit -f) is below its size";
    while (left > 0) {
        long got = call(NR_SENDFILE, to, own, (long)&at, left < 0x40000000 ? (long)left : 0x40000000);
        if (got < 0)
            return "cannot be unpacked: reading failed, or there is no room";
        if (got == 0)
            return "is truncated";
        left -= (uint64_t)got;
    }
    return NULL;
}

/* Whether a folder belongs to this user or to root. Below another user's nothing is made, and nothing is started: whoever owns
 * a folder decides what is in it, and files of this user there (as root's, after `sudo -E`) would be in that one's way. */
static int is_own_or_root_s(const struct launch *launch, long folder) {
    unsigned char bytes[256];
    if (call(NR_FSTAT, folder, (long)bytes, 0, 0) != 0)
        return 0;
    uint64_t user = deburr_number(bytes + STAT_USER, 4);
    return user == 0 || user == effective_user(launch);
}

/* Makes the folders of a path that are missing, as far as they are in one that belongs to this user or to root. */
__attribute__((noinline)) static void make_folders(const struct launch *launch, char path[PATH_SIZE], unsigned length) {
    long above = call(NR_OPENAT, HERE, (long)"/", FOLDER_ONLY | CLOSE_ON_EXEC, 0);
    for (unsigned at = 1; at <= length && above >= 0; at++) {
        if (at < length && path[at] != '/')
            continue;
        path[at] = 0;
        long folder = call(NR_OPENAT, HERE, (long)path, FOLDER_ONLY | CLOSE_ON_EXEC, 0);
        if (folder == NO_ENTRY && is_own_or_root_s(launch, above)) {
            call(NR_MKDIRAT, HERE, (long)path, OWNER_ONLY, 0);
            folder = call(NR_OPENAT, HERE, (long)path, FOLDER_ONLY | CLOSE_ON_EXEC, 0);
        }
        if (at < length)
            path[at] = '/';
        call(NR_CLOSE, above, 0, 0, 0);
        above = folder;
    }
    if (above >= 0)
        call(NR_CLOSE, above, 0, 0, 0);
}

/* The cache's folder for a variant, made where it is not there; `path` becomes its path. Negative where there is none. */
static long open_folder(const struct launch *launch, const char *hash, unsigned hash_length, char path[PATH_SIZE]) {
    unsigned length = 0;
    const char *root = variable(launch, "DEBURR_CACHE"), *below = "/";
    if (root == NULL) {
        root = variable(launch, "XDG_CACHE_HOME");
        below = "/deburr/";
        if (root == NULL || *root == 0) {
            root = variable(launch, "HOME");
            below = "/.cache/deburr/";
        }
    }
    /* An empty DEBURR_CACHE means none. */
    if (root == NULL || *root != '/' || !join(path, &length, root))
        return -1;
    long home = call(NR_OPENAT, HERE, (long)path, FOLDER_ONLY | CLOSE_ON_EXEC, 0);
    int is_another_s = home >= 0 && !is_own_or_root_s(launch, home);
    if (home >= 0)
        call(NR_CLOSE, home, 0, 0, 0);
    if (is_another_s || !join(path, &length, below) || length + hash_length >= PATH_SIZE)
        return -1;
    for (unsigned at = 0; at < hash_length; at++)
        path[length++] = hash[at];
    path[length] = 0;
    long folder = call(NR_OPENAT, HERE, (long)path, FOLDER_ONLY | NO_LINK | CLOSE_ON_EXEC, 0);
    if (folder != NO_ENTRY)
        return folder;
    make_folders(launch, path, length);
    return call(NR_OPENAT, HERE, (long)path, FOLDER_ONLY | NO_LINK | CLOSE_ON_EXEC, 0);
}

/* Writes a variant into the cache's folder; whether it is there. */
static int store(long own, long folder, const char *name, const struct deburr_variant *variant) {
    char temporary[32] = ".new-";
    unsigned length = 5;
    uint64_t process = (uint64_t)call(NR_GETPID, 0, 0, 0, 0);
    do
        temporary[length++] = (char)('0' + process % 10);
    while ((process /= 10) > 0);
    temporary[length] = 0;
    long file = call(NR_OPENAT, folder, (long)temporary, WRITE_NEW | NO_LINK | CLOSE_ON_EXEC, OWNER_ONLY);
    if (file == IS_THERE) {
        /* Of a start with this process's number that was killed. */
        call(NR_UNLINKAT, folder, (long)temporary, 0, 0);
        file = call(NR_OPENAT, folder, (long)temporary, WRITE_NEW | NO_LINK | CLOSE_ON_EXEC, OWNER_ONLY);
    }
    if (file < 0)
        return 0;
    int is_written = copy(own, file, variant) == NULL;
    call(NR_CLOSE, file, 0, 0, 0);
    if (is_written && call(NR_RENAMEAT, folder, (long)temporary, folder, (long)name) == 0)
        return 1;
    call(NR_UNLINKAT, folder, (long)temporary, 0, 0);
    return 0;
}

/* Whether the cache has the variant, as it was written. */
static int has(struct launch *launch, long folder, const char *name, unsigned index) {
    const struct deburr_variant *variant = &deburr_variants(launch->table)[index];
    long file = call(NR_OPENAT, folder, (long)name, NO_LINK | LOOK, 0);
    if (file < 0)
        return 0;
    int is_whole = size_of_own(launch, file, FILE_KIND) == (int64_t)variant->size && fault_of(launch, file, index) == NULL;
    call(NR_CLOSE, file, 0, 0, 0);
    return is_whole;
}

/* Starts the variant from the cache; comes back where that cannot be. */
__attribute__((noinline)) static void start_cached(struct launch *launch, unsigned index, long own) {
    const struct deburr_variant *variant = &deburr_variants(launch->table)[index];
    const char *hash = deburr_string(launch->table, variant->path), *name = hash;
    char path[PATH_SIZE];
    while (*name && *name != '/')
        name++;
    if (*name++ == 0)
        return;
    long folder = open_folder(launch, hash, (unsigned)(name - 1 - hash), path);
    if (folder < 0)
        return;
    if (size_of_own(launch, folder, FOLDER_KIND) >= 0 &&
        (has(launch, folder, name, index) || (store(own, folder, name, variant) && has(launch, folder, name, index)))) {
        if (launch->explains)
            print_unpacked(launch, index, path, name);
        call_5(NR_EXECVEAT, folder, (long)name, (long)launch->argv, (long)launch->envp, NOT_A_LINK);
    }
    call(NR_CLOSE, folder, 0, 0, 0);
}

/* Executes an open file; comes back only with an error. */
static long execute_open(const struct launch *launch, long file) {
    long result = call_5(NR_EXECVEAT, file, (long)"", (long)launch->argv, (long)launch->envp, ITSELF);
    if (result != NO_SUCH_CALL)
        return result;
    /* qemu-user, and sandboxes that know fewer calls than Linux. */
    char digits[24];
    unsigned at = sizeof digits - 1;
    char path[64];
    digits[at] = 0;
    do
        digits[--at] = (char)('0' + file % 10);
    while ((file /= 10) > 0);
    unsigned length = 0;
    for (const char *from = "/proc/self/fd/"; *from; from++)
        path[length++] = *from;
    do
        path[length++] = digits[at];
    while (digits[at++]);
    return call(NR_EXECVE, (long)path, (long)launch->argv, (long)launch->envp, 0);
}

/* Starts a copy of the variant in memory: what is wrong, where it comes back. The descriptor is closed on execution. */
__attribute__((noinline)) static const char *start_in_memory(struct launch *launch, unsigned index, long own) {
    const struct deburr_variant *variant = &deburr_variants(launch->table)[index];
    const char *name = deburr_string(launch->table, variant->path);
    for (const char *at = name; *at; at++) {
        if (*at == '/')
            name = at + 1;
    }
    long memory = call(NR_MEMFD_CREATE, (long)name, MEMORY_CLOSE_ON_EXEC | MEMORY_EXECUTABLE, 0, 0);
    if (memory == INVALID) /* before Linux 6.3 */
        memory = call(NR_MEMFD_CREATE, (long)name, MEMORY_CLOSE_ON_EXEC, 0, 0);
    if (memory < 0)
        return "cannot be unpacked: no cache can be used, and the system forbids files in memory (memfd_create)";
    const char *fault = copy(own, memory, variant);
    if (fault == NULL)
        fault = fault_of(launch, memory, index);
    if (fault == NULL) {
        if (launch->explains)
            print_unpacked(launch, index, NULL, name);
        fault = reason_of(execute_open(launch, memory));
    }
    call(NR_CLOSE, memory, 0, 0, 0);
    return fault;
}

/* Starts a variant of the own file: what is wrong, where it comes back. */
static const char *unpack(struct launch *launch, unsigned index) {
    long own = call(NR_OPENAT, HERE, (long)"/proc/self/exe", CLOSE_ON_EXEC, 0);
    if (own == NO_ENTRY && launch->executed_name)
        own = call(NR_OPENAT, HERE, (long)launch->executed_name, CLOSE_ON_EXEC, 0);
    if (own < 0)
        return "cannot be unpacked: this file cannot be read";
    start_cached(launch, index, own);
    const char *fault = start_in_memory(launch, index, own);
    call(NR_CLOSE, own, 0, 0, 0);
    return fault;
}

/* Runs programs of the campaign, each from several states, and prints a line for each: the program, the state, the signal that
   ended it (0: none) and a checksum of what it left. Without a C library, so that the file holds nothing but the programs;
   `enter.S` says how one is entered and left. With a number as argument: runs that program only and prints all that it left. */
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR 36
#endif

#define STATES 8
#define WORDS 128

struct state {
    uint64_t x[31], sp;
};

/* Nothing through the global offset table, whose relocations lld does not always give an addend in their place. */
#pragma GCC visibility push(hidden)

extern void (*const programs[])(void);
extern const uint64_t number_of_programs, numbers[];
int enter(const struct state *before, struct state *after, void (*program)(void));
extern const char leave_crashed[];
extern uint64_t saved_sp;

static uint64_t memory[WORDS] __attribute__((aligned(1024)));
static unsigned long *auxiliary;
static volatile int crashed;

static long syscall6(long number, long a, long b, long c, long d) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}

/* What libgcc's constructor reads its flag from. */
unsigned long __getauxval(unsigned long type) {
    for (unsigned long *entry = auxiliary; entry[0]; entry += 2) {
        if (entry[0] == type) return entry[1];
    }
    return 0;
}

static char line[256];
static unsigned length;

static void put(char c) { line[length++] = c; }

static void hexadecimal(uint64_t value) {
    int shift = 60;
    while (shift > 0 && !(value >> shift)) shift -= 4;
    for (; shift >= 0; shift -= 4) put("0123456789abcdef"[value >> shift & 15]);
    put(' ');
}

static void flush(void) {
    line[length - 1] = '\n';
    syscall6(SYS_write, 1, (long)line, length, 0);
    length = 0;
}

static void decimal(uint64_t value) {
    char digits[20];
    int count = 0;
    do digits[count++] = '0' + value % 10;
    while (value /= 10);
    while (count) put(digits[--count]);
    put(' ');
}

static uint64_t draw(uint64_t *seed) {
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * 0x2545f4914f6cdd1d;
}

/* Expected value and memory cell in such relations that comparisons succeed, fail, and fail in high bits only. */
static void relate(uint64_t *cell, uint64_t *operands, unsigned state, uint64_t random) {
    switch (state) {
    case 0: break;
    case 1: operands[0] &= 0xff; break;
    case 2: cell[1] = ~operands[1]; break;
    case 3: return;
    case 4: cell[0] = cell[1] = 0; return;
    case 5: operands[0] = random & 1 ? 42 : -38UL; break;
    case 6: operands[0] &= 0xffff; break;
    default: operands[0] = 0xff & random, cell[1] = operands[1], cell[0] = operands[0] + 0x10000; return;
    }
    cell[0] = operands[0];
    if (state != 2) cell[1] = operands[1];
}

static void prepare(struct state *before, uint64_t program, unsigned state) {
    uint64_t seed = (program + 1) * 0x9e3779b97f4a7c15 ^ (state + 1) * 0xbf58476d1ce4e5b9;
    for (unsigned i = 0; i < 8; i++) draw(&seed);
    for (unsigned i = 0; i < WORDS; i++) memory[i] = draw(&seed);
    for (unsigned i = 0; i < 31; i++) before->x[i] = draw(&seed);
    relate(memory, memory + 8, state, draw(&seed));
    before->x[0] = (uint64_t)memory;
}

static void end(int signal, siginfo_t *information, void *context) {
    ucontext_t *at = context;
    (void)information;
    crashed = signal;
    at->uc_mcontext.pc = (uint64_t)leave_crashed;
    at->uc_mcontext.sp = saved_sp;
}

struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static char stack[65536] __attribute__((aligned(16)));

static void handle(void) {
    static const int signals[] = {SIGSEGV, SIGILL, SIGBUS, SIGTRAP, SIGFPE, SIGVTALRM};
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct kernel_action action = {.handler = end, .flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    syscall6(SYS_sigaltstack, (long)&alternate, 0, 0, 0);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
        syscall6(SYS_rt_sigaction, signals[i], (long)&action, 0, 8);
    }
}

/* A program that runs longer than so many microseconds of CPU time hangs. */
static void wait(long microseconds) {
    long timer[4] = {0, 0, 0, microseconds};
    syscall6(SYS_setitimer, 1, (long)timer, 0, 0);
}

static uint64_t checksum(const struct state *after, uint64_t sum) {
    const uint64_t *words = after->x;
    for (unsigned i = 0; i < WORDS + 31; i++) {
        sum = (sum ^ (i < 31 ? words[i] : memory[i - 31])) * 0x100000001b3;
        sum ^= sum >> 29;
    }
    return sum;
}

static void run(uint64_t program, int shows_all) {
    for (unsigned state = 0; state < STATES; state++) {
        struct state before, after = {{0}, 0};
        prepare(&before, numbers[program], state);
        crashed = 0;
        wait(400000);
        enter(&before, &after, programs[program]);
        wait(0);
        decimal(numbers[program]);
        decimal(state);
        decimal(crashed);
        /* Where a program dies is no result. */
        hexadecimal(crashed ? 0 : checksum(&after, after.sp == saved_sp));
        flush();
        for (unsigned i = 0; shows_all && i < WORDS + 31; i++) {
            put(i < 31 ? 'x' : 'm');
            decimal(i < 31 ? i : 8 * (i - 31));
            hexadecimal(i < 31 ? after.x[i] : memory[i - 31]);
            flush();
        }
    }
}

typedef void (*const constructor)(void);

#ifdef RELOCATES
extern Elf64_Dyn dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));
extern char base[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));

static uint64_t described(int64_t tag) {
    Elf64_Dyn *entry = dynamic;
    while (entry->d_tag != DT_NULL && entry->d_tag != tag) entry++;
    return entry->d_tag == tag ? entry->d_un.d_val : 0;
}

static void add_base(uint64_t offset) { *(uint64_t *)(base + offset) += (uint64_t)base; }

/* DT_RELR: addresses, each followed by bitmaps of the 63 words after it. */
static void relocate_relative(const uint64_t *entry, size_t count) {
    uint64_t at = 0;
    for (; count; count--, entry++) {
        if (!(*entry & 1)) {
            add_base(*entry);
            at = *entry + 8;
            continue;
        }
        for (unsigned bit = 1; bit < 64; bit++)
            if (*entry >> bit & 1) add_base(at + 8 * (bit - 1));
        at += 63 * 8;
    }
}

static int64_t leb128(const unsigned char **from) {
    int64_t value = 0;
    unsigned shift = 0, byte;
    do {
        byte = *(*from)++;
        value |= (uint64_t)(byte & 127) << shift;
        shift += 7;
    } while (byte & 128);
    return shift < 64 && byte & 64 ? value | -((int64_t)1 << shift) : value;
}

/* Android's: "APS2", the number of relocations and the first offset, and groups of what they share (by offset, type, addend). */
static void relocate_packed(const unsigned char *from) {
    from += 4;
    int64_t left = leb128(&from), offset = leb128(&from), addend = 0;
    while (left > 0) {
        int64_t size = leb128(&from), flags = leb128(&from);
        int64_t step = flags & 2 ? leb128(&from) : 0;
        int64_t type = flags & 1 ? leb128(&from) : 0;
        if (flags & 8 && flags & 4) addend += leb128(&from);
        if (!(flags & 8)) addend = 0;
        left -= size;
        for (; size; size--) {
            offset += flags & 2 ? step : leb128(&from);
            if (!(flags & 1)) type = leb128(&from);
            if (flags & 8 && !(flags & 4)) addend += leb128(&from);
            if (ELF64_R_TYPE(type) == R_AARCH64_RELATIVE) *(uint64_t *)(base + offset) = (uint64_t)base + addend;
        }
    }
}

#define DT_ANDROID_PACKED 0x60000011

/* Adds the address that the file was loaded at to what depends on it, and runs libgcc's constructor. */
static void initialise(void) {
    const Elf64_Rela *relocation = (const Elf64_Rela *)(base + described(DT_RELA));
    for (size_t left = described(DT_RELASZ) / sizeof *relocation; left; left--, relocation++) {
        uint64_t *place = (uint64_t *)(base + relocation->r_offset);
        if (ELF64_R_TYPE(relocation->r_info) == R_AARCH64_RELATIVE) *place = (uint64_t)base + relocation->r_addend;
    }
    const Elf64_Rel *in_place = (const Elf64_Rel *)(base + described(DT_REL));
    for (size_t left = described(DT_RELSZ) / sizeof *in_place; left; left--, in_place++)
        if (ELF64_R_TYPE(in_place->r_info) == R_AARCH64_RELATIVE) add_base(in_place->r_offset);
    relocate_relative((const uint64_t *)(base + described(DT_RELR)), described(DT_RELRSZ) / 8);
    if (described(DT_ANDROID_PACKED)) relocate_packed((const unsigned char *)(base + described(DT_ANDROID_PACKED)));
    constructor *next = (constructor *)(base + described(DT_INIT_ARRAY));
    for (size_t left = described(DT_INIT_ARRAYSZ) / sizeof *next; left; left--) (*next++)();
}
#else
extern constructor first[] __asm__("__init_array_start"), last[] __asm__("__init_array_end");

static void initialise(void) {
    for (constructor *next = first; next < last; next++) (*next)();
}
#endif

void start(unsigned long *arguments) {
    unsigned long count = arguments[0];
    auxiliary = arguments + count + 2;
    while (*auxiliary++) continue;
    initialise();
    handle();
    uint64_t only = 0;
    if (count > 1) {
        for (const char *digit = (const char *)arguments[2]; *digit; digit++) only = 10 * only + *digit - '0';
        for (uint64_t program = 0; program < number_of_programs; program++)
            if (numbers[program] == only) run(program, 1);
    } else {
        for (uint64_t program = 0; program < number_of_programs; program++) run(program, 0);
    }
    syscall6(SYS_exit_group, 0, 0, 0, 0);
}

//! Measuring stage: the program that starts the measured one, as a file.
//!
//! In: the number of a socket. Out: a static ELF file (System V gABI, chapters 4 and 5) of a few hundred bytes: its
//! header, one loadable segment, and the code below, which has nothing but system calls. [`super::starter`]
//! says what it is for.
//!
//! The code gets what every program gets (psABI, "Process Initialization"): on the stack the number of arguments, the
//! arguments, zero, the environment. Its first argument is the path of the program that it starts, the others
//! are that program's. It
//!
//! 1. closes the socket for whatever is executed later, and waits for one byte from it,
//! 2. reads the monotonic clock,
//! 3. makes a process that shares its memory until it executes the program (`CLONE_VM`, `CLONE_VFORK`), and that
//!    is a child of its own parent (`CLONE_PARENT`), in a process group of its own,
//! 4. writes a [`REPORT`](super::starter): the clock's seconds and nanoseconds, the number of the process, and
//!    the error that making or executing it ended with, or 0.

#![expect(unsafe_code, reason = "the code is assembly, and is copied from between two symbols")]

/// ELF's number of the architecture.
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
/// ELF's number of the architecture.
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
/// Where the file is loaded, which is a multiple of any page size.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const BASE: u64 = 0x40_0000;
/// The largest page size.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const PAGE: u64 = 0x1_0000;

// The registers that the kernel keeps: ebx has the socket, r13, r14 and r15 the path, the arguments and the
// environment. The report is at rsp.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .rodata.deburr_starter, \"a\", @progbits",
    ".globl deburr_starter_begin",
    ".globl deburr_starter_end",
    ".hidden deburr_starter_begin",
    ".hidden deburr_starter_end",
    "deburr_starter_begin:",
    "mov ebx, dword ptr [rip + 9f]",
    "mov rax, qword ptr [rsp]",
    "mov r13, qword ptr [rsp + 8]",
    "lea r14, [rsp + 16]",
    "lea r15, [rsp + 8*rax + 16]",
    "sub rsp, 32",
    // fcntl(socket, F_SETFD, FD_CLOEXEC)
    "mov eax, 72",
    "mov edi, ebx",
    "mov esi, 2",
    "mov edx, 1",
    "syscall",
    // read(socket, report, 1)
    "xor eax, eax",
    "mov edi, ebx",
    "mov rsi, rsp",
    "mov edx, 1",
    "syscall",
    "cmp rax, 1",
    "jne 3f",
    // clock_gettime(CLOCK_MONOTONIC, report)
    "mov eax, 228",
    "mov edi, 1",
    "mov rsi, rsp",
    "syscall",
    "mov qword ptr [rsp + 16], 0",
    // clone(CLONE_VM | CLONE_VFORK | CLONE_PARENT, 0, 0, 0, 0)
    "mov eax, 56",
    "mov edi, 0xc100",
    "xor esi, esi",
    "xor edx, edx",
    "xor r10d, r10d",
    "xor r8d, r8d",
    "syscall",
    "test rax, rax",
    "jz 4f",
    "jns 1f",
    "neg eax",
    "mov dword ptr [rsp + 20], eax",
    "jmp 2f",
    "1: mov dword ptr [rsp + 16], eax",
    // write(socket, report, 24)
    "2: mov eax, 1",
    "mov edi, ebx",
    "mov rsi, rsp",
    "mov edx, 24",
    "syscall",
    // exit_group(0)
    "3: mov eax, 231",
    "xor edi, edi",
    "syscall",
    // setpgid(0, 0)
    "4: mov eax, 109",
    "xor edi, edi",
    "xor esi, esi",
    "syscall",
    // execve(path, arguments, environment)
    "mov eax, 59",
    "mov rdi, r13",
    "mov rsi, r14",
    "mov rdx, r15",
    "syscall",
    "neg eax",
    "mov dword ptr [rsp + 20], eax",
    // exit_group(127)
    "mov eax, 231",
    "mov edi, 127",
    "syscall",
    ".p2align 2",
    "9: .long 0",
    "deburr_starter_end:",
    ".popsection",
);

// As above: w19 has the socket, x22, x23 and x24 the path, the arguments and the environment; the report is
// at sp.
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".pushsection .rodata.deburr_starter, \"a\", @progbits",
    ".globl deburr_starter_begin",
    ".globl deburr_starter_end",
    ".hidden deburr_starter_begin",
    ".hidden deburr_starter_end",
    ".p2align 2",
    "deburr_starter_begin:",
    "ldr w19, 9f",
    "ldp x20, x22, [sp]",
    "add x23, sp, #16",
    "add x24, x23, x20, lsl #3",
    "sub sp, sp, #32",
    // fcntl(socket, F_SETFD, FD_CLOEXEC)
    "mov x8, #25",
    "mov w0, w19",
    "mov x1, #2",
    "mov x2, #1",
    "svc #0",
    // read(socket, report, 1)
    "mov x8, #63",
    "mov w0, w19",
    "mov x1, sp",
    "mov x2, #1",
    "svc #0",
    "cmp x0, #1",
    "b.ne 3f",
    // clock_gettime(CLOCK_MONOTONIC, report)
    "mov x8, #113",
    "mov x0, #1",
    "mov x1, sp",
    "svc #0",
    "str xzr, [sp, #16]",
    // clone(CLONE_VM | CLONE_VFORK | CLONE_PARENT, 0, 0, 0, 0)
    "mov x8, #220",
    "mov x0, #0xc100",
    "mov x1, xzr",
    "mov x2, xzr",
    "mov x3, xzr",
    "mov x4, xzr",
    "svc #0",
    "cbz x0, 4f",
    "tbz x0, #63, 1f",
    "neg w0, w0",
    "str w0, [sp, #20]",
    "b 2f",
    "1: str w0, [sp, #16]",
    // write(socket, report, 24)
    "2: mov x8, #64",
    "mov w0, w19",
    "mov x1, sp",
    "mov x2, #24",
    "svc #0",
    // exit_group(0)
    "3: mov x8, #94",
    "mov x0, xzr",
    "svc #0",
    // setpgid(0, 0)
    "4: mov x8, #154",
    "mov x0, xzr",
    "mov x1, xzr",
    "svc #0",
    // execve(path, arguments, environment)
    "mov x8, #221",
    "mov x0, x22",
    "mov x1, x23",
    "mov x2, x24",
    "svc #0",
    "neg w0, w0",
    "str w0, [sp, #20]",
    // exit_group(127)
    "mov x8, #94",
    "mov x0, #127",
    "svc #0",
    "9: .word 0",
    "deburr_starter_end:",
    ".popsection",
);

/// The code, whose last four bytes are the number of the socket.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn code() -> &'static [u8] {
    unsafe extern "C" {
        #[link_name = "deburr_starter_begin"]
        static BEGIN: u8;
        #[link_name = "deburr_starter_end"]
        static END: u8;
    }
    let (begin, end) = (&raw const BEGIN, &raw const END);
    // SAFETY: the assembly above defines both in one read-only section, the end after the beginning.
    unsafe { std::slice::from_raw_parts(begin, end.addr() - begin.addr()) }
}

/// The file, for a socket; `None` where there is no code for the architecture.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn elf(socket: i32) -> Option<Vec<u8>> {
    const HEADER: u16 = 64;
    const PROGRAM_HEADER: u16 = 56;
    /// PT_LOAD, and PT_GNU_STACK, without which older kernels make all memory executable.
    const SEGMENTS: [(u32, u32); 2] = [(1, 5), (0x6474_e551, 6)];
    let place = u64::from(HEADER) + u64::from(PROGRAM_HEADER) * SEGMENTS.len() as u64;
    let code = code();
    let length = place + code.len() as u64;
    let mut file = Vec::with_capacity(length as usize);
    // ELFCLASS64, ELFDATA2LSB, EV_CURRENT.
    file.extend(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // ET_EXEC
    [2, MACHINE].into_iter().for_each(|half| file.extend(half.to_le_bytes()));
    file.extend(1_u32.to_le_bytes());
    // The entry, the program headers' place, that of no sections.
    [BASE + place, u64::from(HEADER), 0].into_iter().for_each(|field| file.extend(field.to_le_bytes()));
    file.extend(0_u32.to_le_bytes());
    [HEADER, PROGRAM_HEADER, SEGMENTS.len() as u16, 0, 0, 0]
        .into_iter()
        .for_each(|half| file.extend(half.to_le_bytes()));
    for (kind, flags) in SEGMENTS {
        let (base, length) = if kind == 1 { (BASE, length) } else { (0, 0) };
        [kind, flags].into_iter().for_each(|field| file.extend(field.to_le_bytes()));
        [0, base, base, length, length, PAGE].into_iter().for_each(|field| file.extend(field.to_le_bytes()));
    }
    let (code, _) = code.split_last_chunk::<4>()?;
    file.extend(code);
    file.extend(socket.to_le_bytes());
    Some(file)
}

/// There is no code for the architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn elf(_socket: i32) -> Option<Vec<u8>> {
    None
}

//! One instruction as text, for people: the mnemonic and its operands, as GNU objdump writes them.
//!
//! In: the bytes of an instruction and its address. Out: a line such as `ldaxr w2, [x0]`. Targets of branches are
//! addresses; the caller that shows them knows the names. A64 has one syntax, x86-64 two.

/// How x86-64 instructions are written. A64 has one syntax only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syntax {
    /// AT&T's, as GNU objdump, gdb and perf write by default: `mov %rsp,%rbp`.
    #[default]
    Att,
    /// Intel's, as the manuals have it: `mov rbp,rsp`.
    Intel,
}

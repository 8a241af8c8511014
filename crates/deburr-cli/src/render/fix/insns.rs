//! A64 instructions of a change as text, with their addresses.

use deburr_core::Svma;
use deburr_core::insn::disassemble;
use deburr_core::insn::text::Syntax;
use deburr_cpu::Arch;

/// The text of each instruction.
pub(super) fn insns(words: &[u32], at: Svma) -> Vec<String> {
    let text = |(&word, at): (&u32, Svma)| {
        disassemble(Arch::Aarch64, &word.to_le_bytes(), at, Syntax::default())
            .unwrap_or_else(|| format!(".inst {word:#010x}"))
    };
    words.iter().zip(addresses(at)).map(text).collect()
}

/// The addresses of one instruction after another.
pub(super) fn addresses(at: Svma) -> impl Iterator<Item = Svma> {
    (0..).map(move |index| at.offset(4 * index))
}

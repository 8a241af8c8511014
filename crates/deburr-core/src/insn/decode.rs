//! The decoders, by architecture: each function hands its arguments to the one of `x86_64/` or `aarch64/`.

use super::arithmetic::{Arithmetic, FalseDependency};
use super::instruction::{FeatureGroup, Insn, Step};
use super::text::Syntax;
use super::vector::{VectorUse, VectorWidth};
use super::{aarch64, x86_64};
use crate::address::CodeOffset;
use crate::address::Svma;
use crate::insn::sweep::{Interest, Sweep};
use deburr_cpu::{Arch, FeatureSet};

/// How many feature groups an architecture has; group numbers are below it.
pub fn feature_group_count(arch: Arch) -> usize {
    match arch {
        Arch::X86_64 => x86_64::feature_group_count(),
        Arch::Aarch64 => aarch64::feature_group_count(),
    }
}

/// The features of a group.
pub fn features_of(arch: Arch, group: FeatureGroup) -> FeatureSet {
    match arch {
        Arch::X86_64 => x86_64::features_of(group),
        Arch::Aarch64 => aarch64::features_of(group),
    }
}

/// Decodes the first instruction of `code`, which is at `svma`; `None` if it is not one.
pub fn decode(arch: Arch, code: &[u8], svma: Svma) -> Option<Insn> {
    match arch {
        Arch::X86_64 => x86_64::decode(code, svma),
        Arch::Aarch64 => aarch64::decode(code, svma),
    }
}

/// The instructions that bytes in hexadecimal digits are, the first at `svma`, for tests.
#[cfg(test)]
pub(crate) fn decode_hex(arch: Arch, hex: &str, svma: Svma) -> Vec<Insn> {
    let digit = |byte: &str| u8::from_str_radix(byte, 16).unwrap();
    let code: Vec<u8> = hex.split_whitespace().map(digit).collect();
    let (mut insns, mut at) = (Vec::new(), 0);
    while at < code.len() {
        let insn = decode(arch, &code[at..], Svma(svma.0 + at as u64)).unwrap();
        at += usize::from(insn.length);
        insns.push(insn);
    }
    insns
}

/// Where control goes from the first instruction of `code`, which is at `svma`; `None` if it is not one.
pub fn step(arch: Arch, code: &[u8], svma: Svma) -> Option<Step> {
    match arch {
        Arch::X86_64 => x86_64::step(code, svma),
        Arch::Aarch64 => aarch64::step(code, svma),
    }
}

/// Sweeps one unit of code: see [`Sweep`]. The unit is the first `limit` bytes of `code`; what follows is only looked at
/// ahead. Instructions that begin at or after `length` are left to the next call.
pub fn sweep_unit(
    arch: Arch,
    code: &[u8],
    length: usize,
    limit: usize,
    at: CodeOffset,
    interest: &Interest,
    found: &mut Sweep,
) -> CodeOffset {
    match arch {
        Arch::X86_64 => x86_64::sweep(code, length, limit, at, interest, found),
        Arch::Aarch64 => aarch64::sweep(code.get(..limit).unwrap_or(code), length, at, interest, found),
    }
}

/// Whether the body of a short quiet loop, without the jump that closes it, may load from the same place in each
/// iteration. No load of it, as far as is easily seen, uses a register that an earlier iteration changed.
pub fn loads_in_place(arch: Arch, body: &[u8]) -> bool {
    match arch {
        Arch::X86_64 => x86_64::loads_in_place(body),
        Arch::Aarch64 => aarch64::loads_in_place(body),
    }
}

/// What the first instruction of `code` computes on data, if anything.
pub fn arithmetic(arch: Arch, code: &[u8]) -> Option<Arithmetic> {
    match arch {
        Arch::X86_64 => x86_64::arithmetic(code),
        Arch::Aarch64 => aarch64::arithmetic(code),
    }
}

/// On what the first instruction of `code` may wait without need. No such instruction of A64 is known to us.
pub fn false_dependency(arch: Arch, code: &[u8]) -> Option<FalseDependency> {
    match arch {
        Arch::X86_64 => x86_64::false_dependency(code),
        Arch::Aarch64 => None,
    }
}

/// What the first instruction of `code` does with vectors.
pub fn vector_use(arch: Arch, code: &[u8]) -> VectorUse {
    match arch {
        Arch::X86_64 => x86_64::vector_use(code),
        Arch::Aarch64 => aarch64::vector_use(code),
    }
}

/// The width of the widest vector that a function is passed, as far as its first instructions show.
pub fn vector_argument(arch: Arch, code: &[u8]) -> VectorWidth {
    match arch {
        Arch::X86_64 => x86_64::vector_argument(code),
        // `z0` is passed in too, and holds scalars as well.
        Arch::Aarch64 => VectorWidth::None,
    }
}

/// Whether an instruction enters streaming mode, or leaves it; `None` where it does neither.
pub fn streaming_change(arch: Arch, code: &[u8]) -> Option<bool> {
    match arch {
        Arch::X86_64 => None,
        Arch::Aarch64 => aarch64::streaming_change(code),
    }
}

/// What an instruction that needs the features of a group needs in streaming mode.
pub fn in_streaming_mode(arch: Arch, code: &[u8], group: FeatureGroup) -> FeatureGroup {
    match arch {
        Arch::X86_64 => group,
        Arch::Aarch64 => aarch64::in_streaming_mode(code, group),
    }
}

/// The text of the first instruction of `code`, which is at `svma`; `None` if it is not one. Between mnemonic (or
/// prefix) and operands is one space.
pub fn disassemble(arch: Arch, code: &[u8], svma: Svma, syntax: Syntax) -> Option<String> {
    match arch {
        Arch::X86_64 => x86_64::disassemble(code, svma, syntax),
        Arch::Aarch64 => aarch64::disassemble(code, svma),
    }
}

//! How much of the vector registers an x86-64 instruction uses: by its registers, and by what its mnemonic does with
//! them.

use super::decoder::{BITNESS, OPTIONS};
use crate::insn::vector::{VectorUse, VectorWidth};
use iced_x86::{Decoder, Instruction, Mnemonic, OpKind, Register};
use std::sync::LazyLock;

/// What a mnemonic does with vector registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It uses the lowest element alone.
    Scalar,
    /// It moves, shuffles or converts what was moved, or is used so by scalar code.
    Move,
    /// It computes, unless both sources are one register: `pxor`, `pcmpeqd` for all zeros or ones.
    Idiom,
    Computes,
}

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    Mnemonic::values().map(|mnemonic| kind(&format!("{mnemonic:?}").to_lowercase())).collect()
});

fn kind(mnemonic: &str) -> Kind {
    // AVX's names are SSE's with a `v` in front.
    let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if begins(&["broadcast", "pbroadcast"]) {
        return Kind::Move;
    }
    let is_packed_integer = name.starts_with('p');
    let converts = ["si2", "ss2", "sd2", "sh2"].iter().any(|from| name.contains(from));
    let is_scalar =
        !is_packed_integer && (converts || ["ss", "sd", "sh"].iter().any(|end| name.ends_with(end)));
    if is_scalar || ["movd", "movq", "movw"].contains(&name) || begins(&["pextr", "pinsr", "extractps"]) {
        return Kind::Scalar;
    }
    // Without packed data: `cvtps2pd` and `cvtdq2pd` follow `unpcklps` in scalar code.
    if begins(&[
        "mov", "lddqu", "unpck", "punpck", "shuf", "pshufd", "pshuflw", "pshufhw", "perm", "insert",
        "extract",
    ]) || begins(&[
        "cvtps2pd", "cvtdq2pd", "cvtpd2ps", "andp", "andnp", "orp", "xorp", "zero", "ldmxcsr", "stmxcsr",
    ]) {
        return Kind::Move;
    }
    if begins(&["pxor", "pcmpeq", "psub", "pandn", "pternlog"]) { Kind::Idiom } else { Kind::Computes }
}

/// What the first instruction of `code` does with vectors.
pub fn vector_use(code: &[u8]) -> VectorUse {
    let mut insn = Instruction::default();
    Decoder::with_ip(BITNESS, code, 0, OPTIONS).decode_out(&mut insn);
    let mut width = VectorWidth::None;
    let mut sources = [Register::None; 2];
    for operand in 0..insn.op_count() {
        if insn.op_kind(operand) != OpKind::Register {
            continue;
        }
        let register = insn.op_register(operand);
        width = width.max(match register {
            _ if register.is_zmm() => VectorWidth::Bits512,
            _ if register.is_ymm() => VectorWidth::Bits256,
            _ if register.is_xmm() => VectorWidth::Bits128,
            _ if register.is_mm() => VectorWidth::Bits64,
            _ => continue,
        });
        sources = [sources[1], register];
    }
    if width == VectorWidth::None {
        return VectorUse::default();
    }
    match KINDS.get(insn.mnemonic() as usize).copied().unwrap_or(Kind::Move) {
        Kind::Scalar => VectorUse::default(),
        Kind::Move => VectorUse { width, computes: false },
        Kind::Idiom => VectorUse { width, computes: sources[0] != sources[1] },
        Kind::Computes => VectorUse { width, computes: true },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_code_uses_no_vectors_and_moves_compute_nothing() {
        let (wide, half) = (VectorWidth::Bits256, VectorWidth::Bits128);
        for (code, width, computes) in [
            // addsd xmm0, xmm1
            (&[0xf2, 0x0f, 0x58, 0xc1][..], VectorWidth::None, false),
            // addpd xmm0, xmm1
            (&[0x66, 0x0f, 0x58, 0xc1], half, true),
            // pxor xmm0, xmm0
            (&[0x66, 0x0f, 0xef, 0xc0], half, false),
            // pxor xmm0, xmm1
            (&[0x66, 0x0f, 0xef, 0xc1], half, true),
            // movups xmm0, [rdi]
            (&[0x0f, 0x10, 0x07], half, false),
            // cvtsi2sd xmm0, eax
            (&[0xf2, 0x0f, 0x2a, 0xc0], VectorWidth::None, false),
            // vaddpd ymm6, ymm6, ymm0
            (&[0xc5, 0xcd, 0x58, 0xf0], wide, true),
            // vpaddd ymm7, ymm7, ymm2
            (&[0xc5, 0xc5, 0xfe, 0xfa], wide, true),
            // vmovdqa ymm0, ymm7
            (&[0xc5, 0xfd, 0x6f, 0xc7], wide, false),
            // vbroadcastss ymm0, xmm0
            (&[0xc4, 0xe2, 0x7d, 0x18, 0xc0], wide, false),
            // mov rax, rbx
            (&[0x48, 0x89, 0xd8], VectorWidth::None, false),
        ] {
            assert_eq!(vector_use(code), VectorUse { width, computes }, "{code:02x?}");
        }
    }
}

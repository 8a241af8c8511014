//! How much of the vector registers an x86-64 instruction uses: by its registers, and by what its mnemonic does with
//! them.

use super::decoder::{BITNESS, OPTIONS};
use crate::insn::vector::{VectorUse, VectorWidth};
use iced_x86::{
    Code, CpuidFeature, Decoder, EncodingKind, FlowControl, Instruction, InstructionInfoFactory,
    InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register,
};
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

/// Whether both sources of an instruction are the same register.
fn has_one_source(insn: &Instruction) -> bool {
    let mut registers = (0..insn.op_count())
        .rev()
        .filter(|operand| insn.op_kind(*operand) == OpKind::Register)
        .map(|operand| insn.op_register(operand))
        .filter(|register| register.is_vector_register());
    let has_memory = insn.op_kinds().any(|kind| kind == OpKind::Memory);
    !has_memory && registers.next() == registers.next()
}

/// The mnemonics that show a whole argument: those that compute in every element, and that a compiler for AVX2 and FMA would have used
/// with 128 bits for 128 bits. LLVM widens what only AVX-512 has to 512 bits where AVX512VL is missing, scalars too. A blend takes a
/// scalar into a vector, and a gather keeps what was in its destination.
static SHOWS_WHOLE: LazyLock<Vec<bool>> = LazyLock::new(|| {
    let mut shows = vec![false; Mnemonic::values().len()];
    let is_for_all = |feature: &CpuidFeature| {
        matches!(feature, CpuidFeature::AVX | CpuidFeature::AVX2 | CpuidFeature::FMA | CpuidFeature::F16C)
    };
    for code in Code::values().filter(|code| code.encoding() == EncodingKind::VEX) {
        let name = format!("{:?}", code.mnemonic()).to_lowercase();
        let is_part =
            ["vblend", "vpblend", "vgather", "vpgather"].iter().any(|start| name.starts_with(start));
        if let Some(shows) = shows.get_mut(code.mnemonic() as usize) {
            *shows |= !is_part && code.cpuid_features().iter().all(is_for_all);
        }
    }
    shows
});

/// Maximum of instructions at a function's start among which an argument is looked for. SLEEF uses each within the first ten.
const MAX_ENTRY: usize = 64;

/// The vector registers that arguments are passed in (psABI, 3.2.3).
const ARGUMENTS: usize = 8;

/// The width of the widest vector that a function computes with, or stores whole, before it writes it: one that its caller has passed.
/// Moves between registers, shuffles and comparisons into a mask do not count: they take a scalar, or widen it.
pub fn vector_argument(code: &[u8]) -> VectorWidth {
    let mut decoder = Decoder::with_ip(BITNESS, code, 0, OPTIONS);
    let mut factory = InstructionInfoFactory::new();
    let (mut written, mut widest) = ([false; ARGUMENTS], VectorWidth::None);
    for insn in (&mut decoder).into_iter().take(MAX_ENTRY) {
        let kind = KINDS.get(insn.mnemonic() as usize).copied().unwrap_or(Kind::Move);
        let uses_all = match kind {
            Kind::Computes => true,
            // Of one register, it gives all zeros or all ones.
            Kind::Idiom => !has_one_source(&insn),
            Kind::Move | Kind::Scalar => insn.op0_kind() == OpKind::Memory,
        };
        let shows_whole = SHOWS_WHOLE.get(insn.mnemonic() as usize).is_some_and(|shows| *shows)
            || insn.op0_kind() == OpKind::Memory;
        let uses_all = uses_all && shows_whole && !insn.op0_register().is_k();
        let merged = if insn.has_op_mask() { insn.op0_register() } else { Register::None };
        let info = factory.info_options(&insn, InstructionInfoOptions::NO_MEMORY_USAGE);
        for operand in (0..insn.op_count()).filter(|operand| insn.op_kind(*operand) == OpKind::Register) {
            let register = insn.op_register(operand);
            let width = match register {
                _ if register.is_zmm() => VectorWidth::Bits512,
                _ if register.is_ymm() => VectorWidth::Bits256,
                _ => continue,
            };
            let is_read = matches!(info.op_access(operand), OpAccess::Read | OpAccess::ReadWrite);
            let is_free = written.get(register.number()).is_some_and(|written| !written);
            if uses_all && is_read && is_free && register != merged {
                widest = widest.max(width);
            }
        }
        for used in info.used_registers().iter().filter(|used| used.access() != OpAccess::Read) {
            if used.register().is_vector_register()
                && let Some(written) = written.get_mut(used.register().number())
            {
                *written = true;
            }
        }
        if !matches!(insn.flow_control(), FlowControl::Next | FlowControl::ConditionalBranch) {
            break;
        }
    }
    widest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_is_a_vector_that_is_computed_with_before_it_is_written() {
        for (code, expected) in [
            // vaddps zmm1, zmm0, zmm0; ret
            (&[0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc8, 0xc3][..], VectorWidth::Bits512),
            // vpaddd ymm7, ymm7, ymm2; ret
            (&[0xc5, 0xc5, 0xfe, 0xfa, 0xc3], VectorWidth::Bits256),
            // vmovdqa [rsp], ymm0
            (&[0xc5, 0xfd, 0x7f, 0x04, 0x24], VectorWidth::Bits256),
            // vbroadcastss ymm0, xmm0; vaddps ymm0, ymm0, ymm0
            (&[0xc4, 0xe2, 0x7d, 0x18, 0xc0, 0xc5, 0xfc, 0x58, 0xc0], VectorWidth::None),
            // vpcmpeqd ymm0, ymm0, ymm0; vpcmpeqd ymm1, ymm0, ymm0
            (&[0xc5, 0xfd, 0x76, 0xc0, 0xc5, 0xfd, 0x76, 0xc8], VectorWidth::None),
            // vpcmpeqd ymm1, ymm0, ymm0
            (&[0xc5, 0xfd, 0x76, 0xc8], VectorWidth::None),
            // vpternlogd zmm0, zmm0, zmm0, 0xff
            (&[0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc0, 0xff], VectorWidth::None),
            // vpternlogd zmm0, zmm1, zmm2, 0xca: also of 128 bits, without AVX512VL
            (&[0x62, 0xf3, 0x75, 0x48, 0x25, 0xc2, 0xca], VectorWidth::None),
            // vcmpltps k0, zmm0, zmm1
            (&[0x62, 0xf1, 0x7c, 0x48, 0xc2, 0xc1, 0x01], VectorWidth::None),
            // vblendpd ymm0, ymm1, ymm0, 1
            (&[0xc4, 0xe3, 0x75, 0x0d, 0xc0, 0x01], VectorWidth::None),
            // vgatherdps ymm0, [rdi+ymm1*4], ymm2 where only ymm0 was not written
            (
                &[0xc5, 0xf4, 0x57, 0xc9, 0xc5, 0xec, 0x57, 0xd2, 0xc4, 0xe2, 0x6d, 0x92, 0x04, 0x8f],
                VectorWidth::None,
            ),
            // vzeroupper; ret
            (&[0xc5, 0xf8, 0x77, 0xc3], VectorWidth::None),
            // vpsubd ymm0, ymm0, ymm1
            (&[0xc5, 0xfd, 0xfa, 0xc1], VectorWidth::Bits256),
            // ret; vaddps ymm0, ymm0, ymm0
            (&[0xc3, 0xc5, 0xfc, 0x58, 0xc0], VectorWidth::None),
            // addps xmm0, xmm1
            (&[0x0f, 0x58, 0xc1], VectorWidth::None),
        ] {
            assert_eq!(vector_argument(code), expected, "{code:02x?}");
        }
    }

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

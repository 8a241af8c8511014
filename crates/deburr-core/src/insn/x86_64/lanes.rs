//! Which instructions move whole lanes of 32 or 64 bits through XMM registers.
//!
//! In: an instruction. Out: how it arranges the lanes (SDM volume 2), if it does nothing else. Compilers pack
//! neighbouring stores of flags and of pointers like this; everything else that is done to vectors is arithmetic.

use crate::insn::Lanes;
use iced_x86::{Instruction, Mnemonic, OpKind};

pub(super) fn lanes(insn: &Instruction) -> Option<Lanes> {
    use Mnemonic as M;
    let is_same = || insn.op0_kind() == OpKind::Register && insn.op0_register() == insn.op1_register();
    let lanes = match insn.mnemonic() {
        M::Movaps | M::Movups | M::Movapd | M::Movupd | M::Movdqa | M::Movdqu => Lanes::Whole,
        M::Movd | M::Movq if insn.op0_kind() == OpKind::Register || insn.op1_kind() == OpKind::Register => {
            Lanes::Low
        }
        M::Movlps | M::Movlpd => Lanes::LowHalf,
        M::Movhps | M::Movhpd => Lanes::HighHalf,
        M::Pxor | M::Xorps | M::Xorpd if is_same() => Lanes::Zero,
        M::Pand | M::Andps | M::Andpd => Lanes::And,
        M::Pandn | M::Andnps | M::Andnpd => Lanes::AndNot,
        M::Por | M::Orps | M::Orpd => Lanes::Or,
        M::Pxor | M::Xorps | M::Xorpd => Lanes::Xor,
        M::Pshufd => Lanes::Shuffle32,
        M::Punpckldq | M::Unpcklps => Lanes::InterleaveLow32,
        M::Punpcklqdq | M::Unpcklpd | M::Movlhps => Lanes::InterleaveLow64,
        M::Punpckhqdq | M::Unpckhpd => Lanes::InterleaveHigh64,
        M::Pinsrd | M::Pinsrq => Lanes::Insert,
        _ => return None,
    };
    (!has_other_vectors(insn)).then_some(lanes)
}

/// Whether a register of another size takes part.
fn has_other_vectors(insn: &Instruction) -> bool {
    (0..insn.op_count()).any(|n| {
        let register =
            insn.try_op_register(n).ok().filter(|_| matches!(insn.try_op_kind(n), Ok(OpKind::Register)));
        register.is_some_and(|register| register.is_ymm() || register.is_zmm() || register.is_mm())
    })
}

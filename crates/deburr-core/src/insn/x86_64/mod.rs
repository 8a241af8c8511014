//! x86-64: the instructions of 64-bit mode, decoded with iced-x86.
//!
//! In: the bytes of code. Out: [`Insn`] with all its facts (`facts`), one linear pass (`sweep`), and the
//! CPU features that each instruction needs (`features`), after the Intel SDM volume 2 and the AMD APM
//! volumes 3 to 5. The decoder's options are its defaults: current Intel and AMD processors, no retired
//! encodings, and MPX as the no-operation that it is on processors without it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod arithmetic;
mod facts;
mod features;
mod lanes;
mod reload;
mod sweep;
#[cfg(test)]
mod tests;
mod text;
mod vector;

pub use arithmetic::arithmetic;
pub use facts::{decode, decode_holding};
pub use features::{feature_group_count, features_of};
pub use reload::loads_in_place;
pub use sweep::sweep;
pub use text::disassemble;
pub use vector::vector_use;

use iced_x86::{Code, DecoderOptions, Instruction, Mnemonic, OpKind};

use super::Class;

/// The mode of the processor, as the decoder asks for it.
const BITNESS: u32 = 64;
/// How the decoder reads code.
const OPTIONS: u32 = DecoderOptions::NONE;

/// The classes that instructions of this code can have, by its operands and prefixes. What is left to
/// decide is in [`class_of`].
#[rustfmt::skip]
fn possible_classes(code: Code) -> &'static [Class] {
    use Mnemonic as M;
    match code.mnemonic() {
        // The string instruction `movsd` shares its mnemonic with the scalar move.
        M::Movsd if code.is_string_instruction() => &[],
        M::Mov | M::Movzx | M::Movsx | M::Movsxd | M::Movbe | M::Movnti | M::Movdiri | M::Movd | M::Movq
        | M::Movss | M::Movsd | M::Movaps | M::Movapd | M::Movups | M::Movupd | M::Movdqa | M::Movdqu
        | M::Movntdq | M::Movntdqa | M::Movntps | M::Movntpd | M::Movntq | M::Movlps | M::Movlpd | M::Movhps
        | M::Movhpd | M::Lddqu | M::Movddup | M::Vmovd | M::Vmovq | M::Vmovss | M::Vmovsd | M::Vmovaps
        | M::Vmovapd | M::Vmovups | M::Vmovupd | M::Vmovdqa | M::Vmovdqu | M::Vmovdqa32 | M::Vmovdqa64
        | M::Vmovdqu8 | M::Vmovdqu16 | M::Vmovdqu32 | M::Vmovdqu64 | M::Vmovntdq | M::Vmovntdqa
        | M::Vmovntps | M::Vmovntpd | M::Vlddqu => &[Class::Load, Class::Store],
        M::Vbroadcastss | M::Vbroadcastsd | M::Vpbroadcastd | M::Vpbroadcastq => &[Class::Load],
        // SDM volume 2, LOCK: the instructions that take the prefix.
        M::Xchg | M::Add | M::Adc | M::And | M::Btc | M::Btr | M::Bts | M::Cmpxchg | M::Cmpxchg8b
        | M::Cmpxchg16b | M::Dec | M::Inc | M::Neg | M::Not | M::Or | M::Sbb | M::Sub | M::Xadd | M::Xor => {
            &[Class::LockedAtomic]
        }
        M::Mfence | M::Lfence | M::Sfence => &[Class::Barrier],
        M::Pause | M::Tpause => &[Class::SpinHint],
        M::Monitor | M::Monitorx | M::Mwait | M::Mwaitx | M::Umonitor | M::Umwait => &[Class::WaitEvent],
        M::Cpuid | M::Xgetbv => &[Class::FeatureQuery],
        M::Nop | M::Reservednop | M::Endbr64 | M::Endbr32 | M::Rdsspd | M::Rdsspq | M::Cldemote => {
            &[Class::Hint]
        }
        M::Syscall | M::Sysenter | M::Int => &[Class::SystemCall],
        M::Ud0 | M::Ud1 | M::Ud2 | M::Int3 | M::Int1 | M::Hlt => &[Class::Trap],
        _ => &[],
    }
}

/// What the instruction is, by its operands and prefixes too.
fn class_of(insn: &Instruction) -> Class {
    match possible_classes(insn.code()) {
        [Class::LockedAtomic] => {
            // `xchg` with memory asserts the lock without a prefix (SDM volume 2, XCHG).
            let exchanges_memory = insn.mnemonic() == Mnemonic::Xchg && insn.op0_kind() == OpKind::Memory;
            if insn.has_lock_prefix() || exchanges_memory { Class::LockedAtomic } else { Class::Other }
        }
        [Class::Load, ..] => {
            // Moves write operand 0; every other operand is read.
            if insn.op0_kind() == OpKind::Memory {
                Class::Store
            } else if insn.op_kinds().any(|kind| kind == OpKind::Memory) {
                Class::Load
            } else {
                Class::Other
            }
        }
        [class] => *class,
        _ => Class::Other,
    }
}

//! What an instruction is: by its code alone as far as that says, and by its operands and prefixes.

use crate::insn::Class;
use iced_x86::{Code, Instruction, Mnemonic, OpKind};

/// What the instruction is, by its operands and prefixes too.
#[inline]
pub(super) fn class_of(insn: &Instruction) -> Class {
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

/// The classes that instructions of this code can have, by its operands and prefixes. What is left to
/// decide is in [`class_of`].
#[rustfmt::skip]
pub(super) fn possible_classes(code: Code) -> &'static [Class] {
    use Mnemonic as M;
    match code.mnemonic() {
        // The string instruction `movsd` shares its mnemonic with the scalar move.
        M::Movsd if code.is_string_instruction() => &[],
        M::Mov | M::Movzx | M::Movsx | M::Movsxd | M::Movbe | M::Movd | M::Movq
        | M::Movss | M::Movsd | M::Movaps | M::Movapd | M::Movups | M::Movupd | M::Movdqa | M::Movdqu
        | M::Movlps | M::Movlpd | M::Movhps
        | M::Movhpd | M::Lddqu | M::Movddup | M::Vmovd | M::Vmovq | M::Vmovss | M::Vmovsd | M::Vmovaps
        | M::Vmovapd | M::Vmovups | M::Vmovupd | M::Vmovdqa | M::Vmovdqu | M::Vmovdqa32 | M::Vmovdqa64
        | M::Vmovdqu8 | M::Vmovdqu16 | M::Vmovdqu32 | M::Vmovdqu64 | M::Vlddqu => &[Class::Load, Class::Store],
        M::Vbroadcastss | M::Vbroadcastsd | M::Vpbroadcastd | M::Vpbroadcastq => &[Class::Load],
        // SDM volume 2, LOCK: the instructions that take the prefix.
        M::Xchg | M::Add | M::Adc | M::And | M::Btc | M::Btr | M::Bts | M::Cmpxchg | M::Cmpxchg8b
        | M::Cmpxchg16b | M::Dec | M::Inc | M::Neg | M::Not | M::Or | M::Sbb | M::Sub | M::Xadd | M::Xor => {
            &[Class::LockedAtomic]
        }
        // Non-temporal accesses and direct stores; cache lines; the time-stamp counter.
        M::Movnti | M::Movntdq | M::Movntdqa | M::Movntps | M::Movntpd | M::Movntq | M::Movntss | M::Movntsd
        | M::Maskmovdqu | M::Maskmovq | M::Vmovntdq | M::Vmovntdqa | M::Vmovntps | M::Vmovntpd | M::Vmaskmovdqu
        | M::Movdiri | M::Movdir64b | M::Clflush | M::Clflushopt | M::Clwb | M::Rdtsc | M::Rdtscp => {
            &[Class::FenceOrdered]
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

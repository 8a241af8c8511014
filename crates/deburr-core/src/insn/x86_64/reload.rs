//! Whether a loop may load from the same place in each iteration, without all facts of its instructions.
//!
//! In: the bytes of a short loop without stores and calls. Out: no, or maybe. Nearly all loops move a pointer or an
//! index, and this sorts them out for hardly more than decoding them.

use iced_x86::{Decoder, Instruction, Mnemonic, OpKind, Register};

use super::decoder::{BITNESS, OPTIONS};
use crate::insn::rounds::{Iteration, Set};

/// Whether no load of a loop's body uses a general register that an earlier iteration changed, as far as operands show.
/// Nor is anything but counters carried from iteration to iteration.
pub fn loads_in_place(code: &[u8]) -> bool {
    let (mut written, mut carried_in) = (0, 0);
    let mut loads = false;
    let mut iteration = Some(Iteration::new());
    let mut decoder = Decoder::new(BITNESS, code, OPTIONS);
    let mut insn = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut insn);
        let (first, mnemonic) = (insn.op0_register(), insn.mnemonic());
        if insn.is_invalid() || first.is_vector_register() || first.is_st() {
            return false;
        }
        if insn.op_kinds().any(|kind| kind == OpKind::Memory) && mnemonic != Mnemonic::Nop {
            let used = address(&insn);
            if mnemonic != Mnemonic::Lea {
                carried_in |= used & !written;
                loads = true;
                iteration.iter_mut().for_each(|iteration| iteration.load(used));
            }
        }
        if insn.op0_kind() == OpKind::Register && !matches!(mnemonic, Mnemonic::Cmp | Mnemonic::Test) {
            written |= number(first);
        }
        if carried_in & written != 0 {
            return false;
        }
        let is_branch = insn.is_jcc_short_or_near() || insn.is_jmp_short_or_near();
        if is_branch && (1..=code.len() as u64).contains(&insn.near_branch_target()) {
            // Where control meets again, registers hold one thing or another.
            iteration = None;
        } else if iteration.is_some() && !is_branch && !pass(&insn, iteration.as_mut()) {
            iteration = None;
        } else if iteration.is_some() && insn.is_jmp_short_or_near() {
            // Nothing leads to the end.
            return false;
        }
    }
    loads && !iteration.is_some_and(Iteration::moves_on)
}

/// Notes what an instruction makes of what; false of those that are not recognised here.
fn pass(insn: &Instruction, iteration: Option<&mut Iteration>) -> bool {
    use Mnemonic as M;
    let register = |operand: u32| insn.try_op_register(operand).map_or(0, number);
    let (first, second) = (register(0), register(1));
    let step =
        (0..insn.op_count()).find_map(|operand| insn.try_immediate(operand).ok()).map(|step| step as i64);
    let is_alone = insn.op1_kind() == OpKind::Register;
    let (read, counts) = match insn.mnemonic() {
        M::Cmp | M::Test | M::Nop | M::Bt => return true,
        _ if insn.op0_kind() != OpKind::Register => return false,
        // Zero.
        M::Xor | M::Sub if is_alone && insn.op0_register() == insn.op1_register() => (0, false),
        M::Mov => (second | address(insn), is_alone),
        M::Movzx | M::Movsx | M::Movsxd => (second | address(insn), false),
        M::Lea => (address(insn), matches!(insn.memory_displacement64() as i64, 1 | -1)),
        M::Add | M::Sub => (first | second | address(insn), matches!(step, Some(1 | -1))),
        M::Inc | M::Dec => (first, true),
        M::And | M::Or | M::Xor => (first | second | address(insn), false),
        M::Imul if insn.op_count() == 2 => (first | second | address(insn), false),
        M::Imul if insn.op_count() == 3 => (second | address(insn), false),
        M::Shl | M::Shr | M::Sar | M::Neg | M::Not => (first, false),
        _ => return false,
    };
    iteration.into_iter().for_each(|iteration| iteration.make(first, read, counts));
    true
}

/// The registers that an address is made of.
fn address(insn: &Instruction) -> Set {
    number(insn.memory_base()) | number(insn.memory_index())
}

/// The set that holds a general register; the empty one for all others.
fn number(register: Register) -> Set {
    let full = register.full_register();
    if full.is_gpr64() { 1 << (full.number() & 15) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_of_one_place_may_wait() {
        assert!(loads_in_place(&[0x8b, 0x07, 0x85, 0xc0])); // mov eax, [rdi]; test eax, eax
        assert!(loads_in_place(&[0xff, 0xca, 0x74, 0x40, 0x8b, 0x07])); // dec edx; je; mov eax, [rdi]
        // mov eax, [rdi]; test al, 1; je over add ecx, eax
        assert!(loads_in_place(&[0x8b, 0x07, 0xa8, 1, 0x74, 2, 0x01, 0xc1]));
    }

    #[test]
    fn what_probes_or_sums_does_not_wait() {
        // lea ecx, [rcx + 1]; and ecx, edx; cmp [rsi + rcx * 8], rdi
        assert!(!loads_in_place(&[0x8d, 0x49, 1, 0x21, 0xd1, 0x48, 0x39, 0x3c, 0xce]));
        assert!(!loads_in_place(&[0x03, 0x07])); // add eax, [rdi]
        assert!(!loads_in_place(&[0x48, 0x8b, 0x3f])); // mov rdi, [rdi]
        assert!(!loads_in_place(&[0x85, 0xc0])); // test eax, eax
        // mov eax, [rdi]; jmp: nothing leads to the end.
        assert!(!loads_in_place(&[0x8b, 0x07, 0xeb, 0x40]));
    }
}

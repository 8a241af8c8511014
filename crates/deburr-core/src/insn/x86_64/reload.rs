//! Whether a loop may load from the same place each time round, without all facts of its instructions.
//!
//! In: the bytes of a short loop without stores and calls. Out: no, or maybe. Nearly all loops move a pointer or an
//! index, and this sorts them out for hardly more than decoding them.

use iced_x86::{Decoder, Instruction, Mnemonic, OpKind, Register};

use super::{BITNESS, OPTIONS};

/// Whether no load of a loop's body uses a general register that an earlier round changed, as far as operands tell.
pub fn loads_in_place(code: &[u8]) -> bool {
    // Sets of general registers, by number.
    let (mut written, mut carried_in) = (0u32, 0u32);
    let mut loads = false;
    let mut decoder = Decoder::new(BITNESS, code, OPTIONS);
    let mut insn = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut insn);
        let (first, mnemonic) = (insn.op0_register(), insn.mnemonic());
        if insn.is_invalid() || first.is_vector_register() || first.is_st() {
            return false;
        }
        if insn.op_kinds().any(|kind| kind == OpKind::Memory) && mnemonic != Mnemonic::Nop {
            let used = number(insn.memory_base()) | number(insn.memory_index());
            if mnemonic != Mnemonic::Lea {
                carried_in |= used & !written;
                loads = true;
            }
        }
        if insn.op0_kind() == OpKind::Register && !matches!(mnemonic, Mnemonic::Cmp | Mnemonic::Test) {
            written |= number(first);
        }
        if carried_in & written != 0 {
            return false;
        }
    }
    loads
}

/// The set that holds a general register; the empty one for all others.
fn number(register: Register) -> u32 {
    let full = register.full_register();
    if full.is_gpr64() { 1 << (full.number() & 15) } else { 0 }
}

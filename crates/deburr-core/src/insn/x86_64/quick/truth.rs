//! What iced-x86 says of an instruction, as far as the sweep uses it: the table is made of it and compared with it.

use iced_x86::{Decoder, Instruction, OpKind};

use super::super::decoder::{BITNESS, OPTIONS};
use super::super::features::{CodeFacts, TABLE};

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Truth {
    pub(in super::super) length: usize,
    pub(in super::super) facts: CodeFacts,
    /// Whether it stores, calls or enters the system, as far as the sweep sees.
    pub(in super::super) acts: bool,
    /// From its end to where it goes directly.
    pub(in super::super) target: Option<i64>,
    /// From its end to the place that it names relative to RIP.
    pub(in super::super) place: Option<i64>,
}

/// Where instructions are taken to be: no displacement wraps.
const AT: u64 = 1 << 40;

/// The code and the facts of the first instruction of `code`; `None` where there is none.
pub(in super::super) fn truth(code: &[u8]) -> Option<(u16, Truth)> {
    let mut insn = Instruction::default();
    Decoder::with_ip(BITNESS, code, AT, OPTIONS).decode_out(&mut insn);
    let facts = TABLE.facts(insn.code());
    if facts.any(CodeFacts::INVALID) {
        return None;
    }
    let from_end = |to: u64| to.wrapping_sub(AT + insn.len() as u64) as i64;
    let goes = facts.any(CodeFacts::JUMP | CodeFacts::BRANCH | CodeFacts::CALL);
    let truth = Truth {
        length: insn.len(),
        facts,
        acts: facts.any(CodeFacts::ACTS)
            || facts.any(CodeFacts::MAY_STORE) && insn.op0_kind() == OpKind::Memory,
        target: goes.then(|| from_end(insn.near_branch_target())),
        place: insn.is_ip_rel_memory_operand().then(|| from_end(insn.memory_displacement64())),
    };
    Some((insn.code() as u16, truth))
}

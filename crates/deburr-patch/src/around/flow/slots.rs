//! Patch stage: which instructions write a slot of a frame.
//!
//! In: the instructions of one function, and the address of a load from its frame. Out: every store to that slot, each with the register that it
//! stores; or nothing, where something else may write there: the address of something is made that may reach over the slot, a
//! store covers a part of it, or the stack pointer moves in the body.
//!
//! Compilers keep the address of a jump table there while they need its register (gcc's *spill slots*).

use super::derived::{Body, Line, may_go_down};
use deburr_core::address::CodeOffset;
use deburr_core::insn::{Flow, Insn, Operation, Reg};

/// Bytes of a slot.
const SLOT: i64 = 8;

/// Where the stack and frame pointers are, in bytes from the stack pointer at the function's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Frame {
    stack: i64,
    frame: Option<i64>,
}

impl Frame {
    /// Where a base register points to.
    fn at(self, base: Reg) -> Option<i64> {
        match base {
            Reg::SP => Some(self.stack),
            Reg::FRAME => self.frame,
            _ => None,
        }
    }

    /// What an instruction makes of a base register and an immediate.
    fn sum(self, insn: &Insn) -> Option<i64> {
        let base = insn.src.first().copied().flatten().and_then(|base| self.at(base))?;
        match (insn.operation, insn.imm, insn.src.get(1).copied().flatten()) {
            (Operation::Move, None, None) => Some(base),
            (Operation::Add, Some(by), None) => Some(base + by),
            (Operation::Sub, Some(by), None) => Some(base - by),
            _ => None,
        }
    }
}

/// All stores to the slot that a load at `base` plus `displacement` reads, each with the register that is stored.
pub(crate) fn stores_to(body: &Body<'_>, base: Reg, displacement: i64) -> Option<Vec<(CodeOffset, Reg)>> {
    let lines = body.lines;
    let (frame, prologue) = after_prologue(lines)?;
    let slot = frame.at(base)?.checked_add(displacement)?;
    let mut found = Vec::new();
    let mut now = Frame { stack: 0, frame: None };
    let (mut makers, mut operands) = (Vec::new(), Vec::new());
    for (index, line) in lines.iter().enumerate() {
        let (in_prologue, insn) = (index < prologue, &line.insn);
        let here = if in_prologue { now } else { frame };
        let known = insn.memory.and_then(|memory| Some((memory, here.at(memory.base?)?)));
        let mut operand = None;
        if let Some((memory, from)) = known {
            if memory.write && memory.index.is_some() {
                return None;
            }
            let start = from.checked_add(memory.displacement)?;
            operand = memory.index.is_none().then_some(start);
            if memory.write && start < slot + SLOT && slot < start + i64::from(memory.size) {
                found.push((line.at, stored(line.word, slot - start)?));
            }
        }
        operands.push(operand);
        if makes(here, insn) {
            // An object that begins at or below the slot may reach over it.
            here.sum(insn).filter(|made| *made >= slot + SLOT)?;
            makers.push(index);
        }
        if in_prologue {
            follow(&mut now, insn);
        }
    }
    (!found.is_empty() && !may_go_down(body, &makers, &operands)).then_some(found)
}

/// Whether an instruction makes an address in the frame.
fn makes(frame: Frame, insn: &Insn) -> bool {
    let is_of_frame = insn.src.iter().flatten().any(|source| frame.at(*source).is_some());
    let keeps = [Some(Reg::SP), Some(Reg::FRAME), None].contains(&insn.dst);
    is_of_frame && insn.memory.is_none() && !keeps
}

/// Where both pointers are once the first branch or call comes, and how many instructions are before it; nothing, where the stack
/// pointer moves after that, but for what takes the frame down.
fn after_prologue(lines: &[Line]) -> Option<(Frame, usize)> {
    let mut frame = Frame { stack: 0, frame: None };
    let length = lines.iter().take_while(|line| follow(&mut frame, &line.insn)).count();
    let moves = |insn: &Insn| {
        let is_pushed = insn.memory.is_some_and(|it| it.write && it.write_back && it.base == Some(Reg::SP));
        let is_taken_down =
            insn.operation == Operation::Add && insn.imm.is_some() || insn.memory.is_some_and(|it| it.read);
        is_pushed || insn.writes.contains(Reg::SP) && !is_taken_down
    };
    (!lines.iter().skip(length).any(|line| moves(&line.insn))).then_some((frame, length))
}

/// Takes in an instruction of the prologue; whether it is one.
fn follow(frame: &mut Frame, insn: &Insn) -> bool {
    if insn.flow != Flow::Next {
        return false;
    }
    if let Some(memory) = insn.memory.filter(|memory| memory.write_back && memory.base == Some(Reg::SP)) {
        // Before the access: what moves it after that is none of a prologue.
        frame.stack += memory.displacement;
        return memory.write && memory.displacement != 0;
    }
    if insn.dst == Some(Reg::SP) {
        let Some(stack) = frame.sum(insn) else { return false };
        frame.stack = stack;
    } else if insn.dst == Some(Reg::FRAME) {
        frame.frame = frame.sum(insn);
    }
    true
}

/// The register of 64 bits that a store puts at an offset from its address: `str`, `stur`, `stp` (DDI 0487 C4.1, "Loads and Stores").
fn stored(word: u32, offset: i64) -> Option<Reg> {
    let is_one =
        word & 0xffc0_0000 == 0xf900_0000 || word & 0xffe0_0000 == 0xf800_0000 && word >> 10 & 3 != 2;
    let is_pair = word & 0xfe40_0000 == 0xa800_0000;
    let number = match offset {
        0 if is_one || is_pair => word & 31,
        SLOT if is_pair => word >> 10 & 31,
        _ => return None,
    };
    (number != 31).then(|| Reg::general(number as u8))
}

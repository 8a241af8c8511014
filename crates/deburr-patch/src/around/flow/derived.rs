//! Patch stage: where a function's addresses of its own frame go.
//!
//! In: the instructions of one function, and those that make such an address. Out: whether one of them may be used to write below
//! it. A forward analysis over the function's edges, from each of these instructions on, through registers and through places of
//! the frame that keep them. A call ends what it may overwrite; what it keeps also goes to the landing pads. Where a jump goes that is not
//! known yet is left out: then nothing of its function is known.

use deburr_core::address::{CodeOffset, Svma};
use deburr_core::insn::{Flow, Insn, Operation, Reg, RegSet};
use std::ops::{Range, RangeInclusive};

/// The first and the last register that a callee keeps, but for the frame pointer (AAPCS64, 6.1.1).
const KEPT: RangeInclusive<u8> = 19..=28;

/// An instruction, and where it is.
pub(crate) struct Line {
    pub(crate) at: CodeOffset,
    pub(crate) word: u32,
    pub(crate) insn: Insn,
}

/// The instructions of a function, by address, and what is known of them.
pub(crate) struct Body<'s> {
    pub(crate) lines: &'s [Line],
    /// Where jumps through registers lead: places among the lines, from and to.
    pub(crate) jumps: &'s [(usize, usize)],
    /// The file's, sorted.
    pub(crate) landing_pads: &'s [Svma],
}

/// What holds addresses in the frame.
struct Held<'s> {
    body: &'s Body<'s>,
    /// For each line, where its memory operand is in the frame, where that is known.
    operands: &'s [Option<i64>],
    /// For each line, the registers that hold one before it.
    registers: Vec<RegSet>,
    /// Bytes of the frame in which one is.
    places: Vec<Range<i64>>,
    /// Lines to look at again.
    pending: Vec<usize>,
}

/// Whether an instruction may write below an address that one of `makers` has made, or lose track of one. `makers`: places among the
/// lines, sorted; `operands`: for each line, where its memory operand is in the frame, where that is known.
pub(crate) fn may_go_down(body: &Body<'_>, makers: &[usize], operands: &[Option<i64>]) -> bool {
    let registers = vec![RegSet::EMPTY; body.lines.len()];
    let mut held = Held { body, operands, registers, places: Vec::new(), pending: makers.to_vec() };
    let landing_pads = body.landing_pads();
    let kept = KEPT.map(Reg::general).fold(RegSet::EMPTY, RegSet::with);
    while let Some(index) = held.pending.pop() {
        let Some(line) = body.lines.get(index) else { return true };
        let Some(mut after) = held.passed(index, &line.insn) else { return true };
        if makers.binary_search(&index).is_ok() {
            after = line.insn.dst.map_or(after, |made| after.with(made));
        }
        match line.insn.flow {
            Flow::IndirectJump => {
                let jumps = body.jumps.iter().filter(|(from, _)| *from == index);
                jumps.for_each(|&(_, to)| held.join(to, after));
            }
            Flow::Call(_) | Flow::IndirectCall => {
                after = after.intersection(kept);
                landing_pads.iter().for_each(|&to| held.join(to, after));
            }
            Flow::Next | Flow::Jump(_) | Flow::Branch(_) | Flow::Return | Flow::Stop => {}
        }
        match target(line.insn.flow).map(|to| body.index(to)) {
            Some(Some(to)) => held.join(to, after),
            // A part elsewhere that has one goes on with it unseen.
            Some(None) if after != RegSet::EMPTY => return true,
            Some(None) | None => {}
        }
        if line.insn.flow.falls_through() {
            held.join(index + 1, after);
        }
    }
    false
}

impl Body<'_> {
    /// The line at an address.
    fn index(&self, svma: Svma) -> Option<usize> {
        let first = self.lines.first()?.insn.svma;
        usize::try_from(svma.0.checked_sub(first.0)? / 4).ok().filter(|&index| index < self.lines.len())
    }

    /// Where a call may go on when it throws.
    fn landing_pads(&self) -> Vec<usize> {
        let Some((first, last)) = self.lines.first().zip(self.lines.last()) else { return Vec::new() };
        let from = self.landing_pads.partition_point(|&pad| pad < first.insn.svma);
        let pads = self.landing_pads.iter().skip(from).take_while(|&&pad| pad <= last.insn.svma);
        pads.filter_map(|&pad| self.index(pad)).collect()
    }
}

impl Held<'_> {
    /// Takes in what registers hold before a line.
    fn join(&mut self, to: usize, registers: RegSet) {
        if let Some(there) =
            self.registers.get_mut(to).filter(|there| registers.minus(**there) != RegSet::EMPTY)
        {
            *there = there.union(registers);
            self.pending.push(to);
        }
    }

    /// The registers that hold such an address after an instruction; nothing, where it may write below one or make one that is not known.
    fn passed(&mut self, index: usize, insn: &Insn) -> Option<RegSet> {
        let held = *self.registers.get(index)?;
        let left = held.minus(insn.writes);
        if let Some(memory) = insn.memory {
            let is_of_frame = memory.base.is_some_and(|base| held.contains(base));
            let is_below = memory.index.is_some() || memory.displacement < 0;
            if is_of_frame && is_below && (memory.write || memory.write_back) {
                return None;
            }
            let operand = self.operands.get(index).copied().flatten();
            let bytes = operand.and_then(|start| Some(start..start.checked_add(i64::from(memory.size))?));
            if memory.write
                && insn.width == 8
                && insn.src.iter().flatten().any(|source| held.contains(*source))
            {
                // What is put elsewhere comes back unseen.
                self.put(bytes.clone()?);
            }
            // By an index, or from an address of the frame, any of them may be read.
            let may_be_any =
                is_of_frame || memory.base.is_some_and(|base| [Reg::SP, Reg::FRAME].contains(&base));
            let is_loaded = memory.read
                && match bytes {
                    Some(bytes) => self.places.iter().any(|it| it.start < bytes.end && bytes.start < it.end),
                    None => may_be_any && !self.places.is_empty(),
                };
            let left = if is_loaded { held.union(insn.writes) } else { left };
            let stays = memory.base.filter(|_| is_of_frame && memory.write_back);
            return Some(stays.map_or(left, |base| left.with(base)));
        }
        if !insn.reads.intersects(held) {
            return Some(left);
        }
        let goes_up = match insn.operation {
            Operation::Move => true,
            Operation::Add => insn.imm.is_some_and(|by| by >= 0),
            _ => false,
        };
        match insn.dst {
            Some(to) if goes_up && insn.width == 8 => Some(left.with(to)),
            // The lower half of an address is the whole of it where the stack is below 4 GiB; that of a difference is not an address.
            Some(_) if insn.width == 4 && !goes_up => Some(left),
            Some(_) => None,
            // A comparison or a branch; `dc zva` writes the block around its address.
            None => (insn.writes.contains(Reg::FLAGS) || insn.flow != Flow::Next).then_some(left),
        }
    }

    /// Takes in bytes of the frame that hold such an address.
    fn put(&mut self, bytes: Range<i64>) {
        if !self.places.contains(&bytes) {
            self.places.push(bytes);
            // Loads may be of it.
            let reads = |(_, line): &(usize, &Line)| line.insn.memory.is_some_and(|memory| memory.read);
            self.pending.extend(self.body.lines.iter().enumerate().filter(reads).map(|(index, _)| index));
        }
    }
}

/// Where a jump or branch leads.
const fn target(flow: Flow) -> Option<Svma> {
    match flow {
        Flow::Jump(to) | Flow::Branch(to) => Some(to),
        _ => None,
    }
}

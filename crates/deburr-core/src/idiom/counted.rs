//! Loops that count: one run of instructions that ends in a branch back to its start, taken a number of times that does
//! not depend on what the loop reads.
//!
//! In: a jump back that the sweep noted. Out: [`Counted`]: the instructions, which registers step by a constant, what
//! is carried from one iteration to the next, and how far each access to memory moves.

use crate::address::CodeOffset;
use crate::function::Program;
use crate::image::Image;
use crate::insn::arithmetic;
use crate::insn::arithmetic::{Arithmetic, Work};
use crate::insn::{self, Class, Flow, Insn, Memory, Operation, Reg, RegSet};
use deburr_cpu::Arch;

/// One instruction of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its facts.
    pub insn: Insn,
    /// What it computes on data.
    pub arithmetic: Option<Arithmetic>,
}

/// A loop that counts.
#[derive(Debug, Clone)]
pub struct Counted {
    /// Its instructions, the branch last.
    pub steps: Vec<Step>,
    /// Registers that grow by a constant each time, and by how many.
    pub inductions: Vec<(Reg, i64)>,
    /// All registers that it writes.
    pub written: RegSet,
}

/// What a loop carries from one iteration to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduction {
    /// The register.
    pub reg: Reg,
    /// Whether it sums or multiplies floating-point numbers, whose order matters.
    pub is_ordered: bool,
}

impl Counted {
    /// Reads the loop that a jump back at `from` to `to` closes; `None` where it is no such loop.
    pub fn read(image: &Image<'_>, program: &Program, from: CodeOffset, to: CodeOffset) -> Option<Counted> {
        let (first, last) = (image.svma(to), image.svma(from));
        let code = image.bytes_at(first)?;
        let mut steps: Vec<Step> = Vec::new();
        let mut post_steps: Vec<(Reg, i64)> = Vec::new();
        let mut at = first;
        while at <= last {
            let here = code.get(usize::try_from(at.since(first)?).ok()?..)?;
            let insn = insn::decode(image.arch, here, at)?;
            let is_last = at == last;
            let flows = if is_last { insn.flow == Flow::Branch(first) } else { insn.flow == Flow::Next };
            if !flows || program.is_data(image.code_offset(at)?) || !is_plain(&insn) {
                return None;
            }
            if let Some(memory) = insn.memory.filter(|memory| memory.write_back) {
                post_steps.push((memory.base?, write_back(image.arch, here, &memory)?));
            }
            steps.push(Step { insn, arithmetic: arithmetic(image.arch, here) });
            at = insn.next();
        }
        let closes = steps.last().is_some_and(|step| step.insn.svma == last);
        let written = steps.iter().fold(RegSet::EMPTY, |written, step| written.union(step.insn.writes));
        let inductions = inductions(&steps, &post_steps);
        let counted = Counted { steps, inductions, written };
        (closes && counted.ends_by_count()).then_some(counted)
    }

    /// By how much a register grows each time: 0 where the loop leaves it alone, `None` where it does something else.
    pub fn step_of(&self, reg: Reg) -> Option<i64> {
        if !self.written.contains(reg) {
            return Some(0);
        }
        self.inductions.iter().find(|(stepped, _)| *stepped == reg).map(|(_, step)| *step)
    }

    /// By how many bytes an access moves each time; `None` where that is not constant.
    pub fn stride(&self, memory: &Memory) -> Option<i64> {
        let base = memory.base.map_or(Some(0), |base| self.step_of(base))?;
        let index = memory.index.map_or(Some(0), |index| self.step_of(index))?;
        base.checked_add(index.checked_mul(1 << memory.index_as.shift.min(8))?)
    }

    /// Whether the branch at the end tests only registers that count, or that the loop leaves alone.
    fn ends_by_count(&self) -> bool {
        let Some((branch, body)) = self.steps.split_last() else { return false };
        let counts = |insn: &Insn| {
            let sources = insn.src.iter().flatten();
            let mut steps = sources.map(|&reg| self.step_of(reg));
            let all = steps.clone().all(|step| step.is_some());
            all && steps.any(|step| step != Some(0)) && insn.memory.is_none()
        };
        match branch.insn.operation {
            Operation::BranchZero => counts(&branch.insn),
            Operation::BranchCondition => {
                let setter = body.iter().rev().find(|step| step.insn.writes.contains(Reg::FLAGS));
                setter.is_some_and(|step| {
                    use Operation as O;
                    let sets_flags = matches!(step.insn.operation, O::Compare | O::Sub | O::Add | O::Test);
                    sets_flags && counts(&step.insn)
                })
            }
            _ => false,
        }
    }

    /// The maximum number of iterations, where an immediate says so.
    pub fn at_most(&self) -> Option<u64> {
        let compares = |step: &&Step| step.insn.operation == Operation::Compare;
        let last = self.steps.iter().rev().find(compares)?;
        let step = self.step_of(last.insn.src[0]?)?;
        Some(last.insn.imm?.unsigned_abs() / step.unsigned_abs().max(1))
    }

    /// What is carried on in addition to counters, if all of it is sums and the like; `None` where one iteration needs
    /// another's result by any other means.
    pub fn reductions(&self) -> Option<Vec<Reduction>> {
        let mut defined = RegSet::EMPTY;
        let mut carried = RegSet::EMPTY;
        for Step { insn, .. } in &self.steps {
            let early = insn.reads.intersection(self.written);
            for reg in registers(early).filter(|reg| !defined.contains(*reg)) {
                carried = carried.with(reg);
            }
            defined = defined.union(insn.writes);
        }
        let mut found = Vec::new();
        for reg in registers(carried) {
            if self.inductions.iter().any(|(stepped, _)| *stepped == reg) {
                continue;
            }
            found.push(self.reduction(reg)?);
        }
        Some(found)
    }

    /// A register that every instruction which touches it only adds to, or the like.
    fn reduction(&self, reg: Reg) -> Option<Reduction> {
        let mut is_ordered = false;
        // `h = (h * p) ^ x` is no sum: what is done to the register must be one thing.
        let mut done_to_it = None;
        let touching = self.steps.iter().filter(|step| step.insn.reads.union(step.insn.writes).contains(reg));
        for Step { insn, arithmetic } in touching {
            let accumulates = insn.dst == Some(reg) && accumulates(insn, reg);
            let addresses = insn
                .memory
                .is_some_and(|memory| memory.write || memory.base == Some(reg) || memory.index == Some(reg));
            let kind = match (arithmetic, insn.operation) {
                (Some(done), _) => {
                    is_ordered |= done.is_float && done.work != Work::MinMax;
                    match done.work {
                        Work::Add | Work::MultiplyAdd => Operation::Add,
                        Work::Multiply if insn.src[2].is_some() => Operation::Add,
                        Work::Multiply => Operation::Other,
                        Work::Logic => Operation::Xor,
                        Work::MinMax => Operation::Select,
                        _ => return None,
                    }
                }
                (None, Operation::Add | Operation::Sub) => Operation::Add,
                (None, plain @ (Operation::And | Operation::Or | Operation::Xor)) => plain,
                _ => return None,
            };
            if !accumulates || addresses || done_to_it.is_some_and(|done| done != kind) {
                return None;
            }
            done_to_it = Some(kind);
        }
        Some(Reduction { reg, is_ordered })
    }
}

/// Whether an instruction takes a register once, as it is, and not as what it subtracts or multiplies. What it makes of
/// it can then be added up in another order.
fn accumulates(insn: &Insn, reg: Reg) -> bool {
    let is_it = |source: Option<Reg>| source == Some(reg);
    let last = insn.src.iter().flatten().next_back();
    let is_shifted = insn.modified && last == Some(&reg);
    let is_subtracted = insn.operation == Operation::Sub && !is_it(insn.src[0]);
    // `madd`, `fmadd` and the like add their third source.
    let is_factor = insn.src[2].is_some() && !is_it(insn.src[2]);
    let times = insn.src.iter().filter(|source| is_it(**source)).count();
    times == 1 && !is_shifted && !is_subtracted && !is_factor
}

/// The general and vector registers of a set.
fn registers(set: RegSet) -> impl Iterator<Item = Reg> {
    let vectors = (0..32).map(Reg::vector).filter(move |reg| set.contains(*reg));
    set.general().chain(vectors)
}

/// Whether an instruction is one of those that compilers vectorise or that count.
fn is_plain(insn: &Insn) -> bool {
    matches!(insn.class, Class::Other | Class::Load | Class::Store | Class::Hint)
        && !insn.reads.contains(Reg::OTHER)
        && !insn.writes.contains(Reg::OTHER)
}

/// By how much an access with write-back moves its base.
fn write_back(arch: Arch, code: &[u8], memory: &Memory) -> Option<i64> {
    if arch != Arch::Aarch64 {
        return None;
    }
    let word = u32::from_le_bytes(*code.first_chunk::<4>()?);
    if word & 0x3b20_0400 == 0x3800_0400 {
        return Some(i64::from((word << 11) as i32 >> 23)); // ldr x0, [x1], #imm9 and ldr x0, [x1, #imm9]!
    }
    if word & 0x3a80_0000 == 0x2880_0000 {
        let scale = i64::from(memory.size / 2);
        return Some(i64::from((word << 10) as i32 >> 25) * scale); // ldp x0, x1, [x2], #imm7
    }
    None
}

/// The general registers that one instruction of the loop writes, and that by adding a constant.
fn inductions(steps: &[Step], written_back: &[(Reg, i64)]) -> Vec<(Reg, i64)> {
    let mut found: Vec<(Reg, i64)> = Vec::new();
    let added = steps.iter().filter_map(|Step { insn, .. }| {
        let dst = insn.dst.filter(|dst| dst.index().is_some())?;
        let same = insn.src[0] == Some(dst) && insn.src[1].is_none() && insn.memory.is_none();
        let step = match insn.operation {
            Operation::Add if same => insn.imm?,
            Operation::Sub if same => insn.imm?.checked_neg()?,
            Operation::EffectiveAddress => {
                insn.memory.filter(|memory| memory.base == Some(dst) && memory.index.is_none())?.displacement
            }
            _ => return None,
        };
        Some((dst, step))
    });
    found.extend(added.chain(written_back.iter().copied()));
    let writes = |reg: Reg| steps.iter().filter(|step| step.insn.writes.contains(reg)).count();
    found.retain(|(reg, step)| *step != 0 && writes(*reg) == 1);
    found
}

//! What each value in a cycle comes from: what makes a loop wait for something, not work.
//!
//! In: a [`Cycle`]. Out: [`Flow`]: the loads, the atomic operation, and the conditions of the branches, each with its
//! [`Origins`]. Where nothing but a counter is carried from one iteration to the next and nothing is stored, only
//! another processor can make a later iteration differ from the first.

use super::cycle::Cycle;
use crate::image::Image;
use crate::insn::{Class, Flow as Transfer, Insn, Memory, Operation, Reg, RegSet};
use deburr_cpu::Arch;

/// General registers, AArch64's stack pointer, and the flags.
const SLOTS: usize = 33;
/// The flags' slot.
const FLAGS: usize = 32;
/// Maximum number of loads in a cycle.
const LOADS: usize = 64;

/// What a value comes from, as sets by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Origins {
    /// Registers that the cycle writes, as they were when the iteration began.
    carried: u64,
    /// Loads of this iteration.
    pub(super) loads: u64,
    /// Whether the old value that an atomic operation of this iteration brought is among them.
    pub(super) atomic: bool,
    /// Whether the time is among them.
    pub(super) time: bool,
}

impl Origins {
    fn and(self, other: Origins) -> Origins {
        Origins {
            carried: self.carried | other.carried,
            loads: self.loads | other.loads,
            atomic: self.atomic || other.atomic,
            time: self.time || other.time,
        }
    }
}

/// What a register holds at some point of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Value {
    origins: Origins,
    /// The slot whose value at the beginning of the iteration it is, plus a constant.
    counts: Option<u8>,
    /// Which definition made it; 0: none in this iteration.
    made_by: u32,
}

type State = [Value; SLOTS];

/// A plain load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) insn: Insn,
    pub(super) address: Origins,
}

/// A read-modify-write: one instruction, a call of a helper, or an exclusive pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Atomic {
    /// The instruction, the call, or the load-exclusive.
    pub(super) insn: Insn,
    pub(super) address: Origins,
    /// Where the instruction itself names it.
    pub(super) memory: Option<Memory>,
    /// The expected value of a compare-and-swap; the new one of an exchange.
    pub(super) operand: Origins,
    pub(super) is_compare: bool,
}

/// A call that represents an atomic operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlined {
    pub(super) is_compare: bool,
}

/// Where the values of a cycle come from.
#[derive(Default)]
pub(super) struct Flow {
    pub(super) loads: Vec<Load>,
    pub(super) atomics: Vec<Atomic>,
    /// The conditions of the branches that may leave the cycle.
    pub(super) exits: Vec<Origins>,
    /// The conditions of all branches.
    pub(super) branches: Vec<Origins>,
    /// Whether something makes the processor pause.
    pub(super) pauses: bool,
    /// By slot, at the end of an iteration.
    back: Vec<Value>,
    /// Slots of which an instruction reads what an earlier iteration left.
    used: u64,
    /// Slots whose value depends on what it was an iteration before.
    accumulates: u64,
    /// Those of them that only count.
    pub(super) counters: u64,
}

impl Flow {
    /// Follows the values of a cycle. `None` where it does something that no waiting loop does: it stores, calls,
    /// enters the system, or computes on other than general registers.
    pub(super) fn of(
        image: &Image<'_>,
        cycle: &Cycle<'_>,
        outlined: &dyn Fn(&Insn) -> Option<Outlined>,
    ) -> Option<Flow> {
        let mut follower = Follower { image, outlined, written: 0, flow: Flow::default() };
        for insn in cycle.insns() {
            let writes = if outlined(insn).is_some() { helper_writes() } else { insn.writes };
            follower.written |= slots(writes)?;
        }
        let mut ends: Vec<(usize, State, Origins)> = Vec::new();
        for &block in &cycle.blocks {
            let (mut state, control) = follower.enter(cycle, block, &ends);
            let insns = cycle.insns_of(block);
            for insn in insns {
                follower.step(insn, &mut state)?;
            }
            let mut control = control;
            if let Some(last) = insns.last().filter(|last| matches!(last.flow, Transfer::Branch(_))) {
                // `xbegin`, and `loop`, which counts by itself.
                if last.operation == Operation::Other {
                    return None;
                }
                let condition = follower.read(last.reads, &state);
                follower.flow.branches.push(condition);
                if cycle.leaves(block) {
                    follower.flow.exits.push(condition);
                } else {
                    control = control.and(condition);
                }
            }
            ends.push((block, state, control));
        }
        let header = *cycle.blocks.first()?;
        let mut back = ends
            .iter()
            .filter(|(block, ..)| super::cycle::successors(cycle.graph, *block).any(|to| to == header));
        let (_, first, control) = back.next()?;
        let (state, _) = back.fold((*first, *control), |(state, control), (_, other, more)| {
            let control = control.and(*more);
            (merge(&state, other, control, u32::MAX), control)
        });
        let mut flow = follower.flow;
        flow.back = state.to_vec();
        flow.find_what_accumulates();
        Some(flow)
    }

    /// What a value comes from, over all iterations.
    pub(super) fn resolved(&self, origins: Origins) -> Origins {
        let mut all = origins;
        let mut followed = 0;
        while all.carried & !followed != 0 {
            let slot = (all.carried & !followed).trailing_zeros();
            followed |= 1 << slot;
            all = all.and(self.back.get(slot as usize).map(|value| value.origins).unwrap_or_default());
        }
        all
    }

    /// What a value comes from in the iterations before this one.
    pub(super) fn before(&self, origins: Origins) -> Origins {
        self.resolved(Origins { carried: origins.carried, ..Origins::default() })
    }

    /// Whether a value changes from iteration to iteration by what the cycle itself does.
    pub(super) fn accumulates(&self, origins: Origins) -> bool {
        self.resolved(origins).carried & self.accumulates != 0
    }

    /// Whether something else than a counter does.
    pub(super) fn works(&self) -> bool {
        self.accumulates & !self.counters != 0
    }

    /// Whether a value depends on which of a few iterations it is: on a register that an earlier iteration set, and not
    /// from memory. Such a loop ends by itself.
    pub(super) fn distinguishes_iterations(&self, origins: Origins) -> bool {
        let carried = self.resolved(origins).carried & !self.counters;
        (0..SLOTS).zip(&self.back).any(|(slot, value)| {
            let from = self.resolved(value.origins);
            carried & 1 << slot != 0 && from.loads == 0 && !from.atomic && !from.time
        })
    }

    fn find_what_accumulates(&mut self) {
        for slot in 0..SLOTS {
            let Some(value) = self.back.get(slot).copied() else { continue };
            // What only stays as it was on one of several paths, and nothing reads, is no state.
            let is_state = value.made_by != 0 && self.used & 1 << slot != 0;
            if is_state && self.resolved(value.origins).carried & 1 << slot != 0 {
                self.accumulates |= 1 << slot;
                let counts = value.counts.is_some_and(|from| usize::from(from) == slot);
                self.counters |= u64::from(counts) << slot;
            }
        }
    }
}

struct Follower<'a> {
    image: &'a Image<'a>,
    outlined: &'a dyn Fn(&Insn) -> Option<Outlined>,
    /// Slots that the cycle writes.
    written: u64,
    flow: Flow,
}

impl Follower<'_> {
    /// What the registers hold where a block begins, and what decided that it runs.
    fn enter(&self, cycle: &Cycle<'_>, block: usize, ends: &[(usize, State, Origins)]) -> (State, Origins) {
        if cycle.blocks.first() == Some(&block) {
            return (self.start(), Origins::default());
        }
        let number = ends.len() as u32;
        let mut before = cycle.before(block).filter_map(|before| ends.iter().find(|end| end.0 == before));
        let Some((_, first, control)) = before.next() else { return (self.start(), Origins::default()) };
        before.fold((*first, *control), |(state, control), (_, other, more)| {
            let control = control.and(*more);
            (merge(&state, other, control, u32::MAX - 1 - number), control)
        })
    }

    fn start(&self) -> State {
        let mut state: State = [Value::default(); SLOTS];
        for (slot, value) in (0u8..).zip(&mut state) {
            value.counts = Some(slot);
            value.origins.carried = self.written & 1 << slot;
        }
        state
    }

    /// What the registers of a set come from.
    fn read(&self, reads: RegSet, state: &State) -> Origins {
        let slots = known_slots(reads);
        let held = (0..).zip(state).filter(|(slot, _)| slots & 1 << slot != 0);
        held.fold(Origins::default(), |origins, (_, value)| origins.and(value.origins))
    }

    fn step(&mut self, insn: &Insn, state: &mut State) -> Option<()> {
        let address = insn.memory.map_or(Origins::default(), |memory| {
            let registers = [memory.base, memory.index].into_iter().flatten();
            self.read(registers.fold(RegSet::EMPTY, RegSet::with), state)
        });
        let mut origins = self.read(insn.reads, state);
        self.flow.used |= known_slots(insn.reads) & origins.carried;
        let mut writes = insn.writes;
        match insn.class {
            Class::LseAtomic | Class::LockedAtomic => {
                let is_compare = match insn.operation {
                    Operation::CompareSwap => true,
                    Operation::Swap => false,
                    _ => return None,
                };
                let operand = self.read(insn.src[0].into_iter().fold(RegSet::EMPTY, RegSet::with), state);
                let memory = insn.memory.filter(|memory| memory.size <= 8)?;
                self.flow.atomics.push(Atomic {
                    insn: *insn,
                    address,
                    memory: Some(memory),
                    operand,
                    is_compare,
                });
                origins = Origins { atomic: true, ..Origins::default() };
            }
            Class::LoadExclusive => {
                let operand = Origins::default();
                let memory = insn.memory;
                self.flow.atomics.push(Atomic { insn: *insn, address, memory, operand, is_compare: true });
                origins = Origins { atomic: true, ..Origins::default() };
            }
            Class::StoreExclusive => {
                // What an exchange stores; whether it succeeded is no news of the memory.
                let stored = self.read(insn.src[0].into_iter().fold(RegSet::EMPTY, RegSet::with), state);
                self.flow.atomics.last_mut().filter(|atomic| atomic.memory == with_reads(insn))?.operand =
                    stored;
                origins = Origins::default();
            }
            Class::SpinHint | Class::InstructionBarrier => self.flow.pauses = true,
            Class::Load if insn.memory.is_some_and(|memory| memory.write_back) => return None,
            Class::Store | Class::WaitEvent | Class::SystemCall | Class::Trap | Class::FeatureQuery => {
                return None;
            }
            _ if matches!(insn.flow, Transfer::Call(_)) => {
                let Outlined { is_compare } = (self.outlined)(insn)?;
                let at = Reg::general(if is_compare { 2 } else { 1 });
                self.flow.atomics.push(Atomic {
                    insn: *insn,
                    address: self.read(RegSet::EMPTY.with(at), state),
                    memory: None,
                    operand: self.read(RegSet::EMPTY.with(Reg::general(0)), state),
                    is_compare,
                });
                origins = Origins { atomic: true, ..Origins::default() };
                writes = helper_writes();
            }
            _ if matches!(insn.flow, Transfer::IndirectCall | Transfer::IndirectJump) => return None,
            _ if matches!(insn.operation, Operation::Push | Operation::Pop | Operation::Leave) => {
                return None;
            }
            _ if insn.memory.is_some_and(|memory| memory.write) => return None,
            _ if insn.memory.is_some_and(|memory| memory.read) => {
                let number = self.flow.loads.len();
                self.flow.loads.push(Load { insn: *insn, address });
                origins.loads |= 1u64.checked_shl(number as u32).filter(|_| number < LOADS)?;
            }
            _ => self.flow.pauses |= is_speculation_barrier(self.image, insn),
        }
        origins.time |= reads_time(self.image, insn);
        let counts = counted(insn).and_then(|from| state.get(from.index()?)?.counts);
        let made_by = insn.svma.0 as u32 | 1 << 31;
        let written = slots(writes)?;
        for (slot, value) in (0..).zip(state) {
            if written & 1 << slot != 0 {
                let is_result = insn.dst.and_then(Reg::index) == Some(slot);
                *value = Value { origins, counts: counts.filter(|_| is_result), made_by };
            }
        }
        Some(())
    }
}

/// The values where two paths join: of those that differ, what chose between the paths is an origin, too.
fn merge(a: &State, b: &State, control: Origins, number: u32) -> State {
    let mut merged = *a;
    for (value, other) in merged.iter_mut().zip(b).filter(|(value, other)| value != other) {
        *value = Value {
            origins: value.origins.and(other.origins).and(control),
            counts: value.counts.filter(|_| value.counts == other.counts),
            made_by: number,
        };
    }
    merged
}

/// The slots of the registers in a set that have one.
fn known_slots(registers: RegSet) -> u64 {
    let general = registers.general().filter_map(Reg::index).fold(0u64, |slots, index| slots | 1 << index);
    general | u64::from(registers.contains(Reg::FLAGS)) << FLAGS
}

/// The slots of a set of registers; `None` where one has none.
fn slots(registers: RegSet) -> Option<u64> {
    let general = registers.general().fold(RegSet::EMPTY, RegSet::with);
    let known = if registers.contains(Reg::FLAGS) { general.with(Reg::FLAGS) } else { general };
    (known == registers).then(|| known_slots(registers))
}

/// What an outlined helper may change: its result, what its body uses, and the link register.
pub(super) fn helper_writes() -> RegSet {
    [0, 15, 16, 17, 30].map(Reg::general).into_iter().fold(RegSet::EMPTY.with(Reg::FLAGS), RegSet::with)
}

/// A store-exclusive's memory operand, as its load-exclusive has it.
fn with_reads(store: &Insn) -> Option<Memory> {
    store.memory.map(|memory| Memory { read: true, write: false, ..memory })
}

/// The register that an instruction copies, or adds or subtracts 1 from. What moves by more goes through memory.
fn counted(insn: &Insn) -> Option<Reg> {
    let register = insn.src[0].filter(|_| insn.src[1].is_none() && insn.memory.is_none() && !insn.modified);
    match insn.operation {
        Operation::Add | Operation::Sub if matches!(insn.imm, Some(1 | -1)) => register,
        Operation::Move => register,
        Operation::EffectiveAddress => {
            let is_step = |memory: &Memory| memory.index.is_none() && matches!(memory.displacement, 1 | -1);
            insn.memory.filter(is_step)?.base
        }
        _ => None,
    }
}

/// Whether an instruction reads the time: `mrs` of the counters, `rdtsc`, `rdtscp`.
fn reads_time(image: &Image<'_>, insn: &Insn) -> bool {
    /// CNTPCT_EL0, CNTVCT_EL0, CNTPCTSS_EL0, CNTVCTSS_EL0, as `op0:op1:CRn:CRm:op2`.
    const COUNTERS: [i64; 4] = [0xdf01, 0xdf02, 0xdf05, 0xdf06];
    match image.arch {
        Arch::Aarch64 => {
            insn.operation == Operation::ReadSystemRegister
                && insn.imm.is_some_and(|register| COUNTERS.contains(&register))
        }
        Arch::X86_64 => {
            insn.operation == Operation::Other
                && image
                    .bytes_at(insn.svma)
                    .is_some_and(|code| matches!(code, [0x0f, 0x31, ..] | [0x0f, 0x01, 0xf9, ..]))
        }
    }
}

/// Whether an instruction is `sb`, which some use as a pause.
fn is_speculation_barrier(image: &Image<'_>, insn: &Insn) -> bool {
    const SB: [u8; 4] = 0xd503_30ff_u32.to_le_bytes(); // sb
    image.arch == Arch::Aarch64
        && insn.operation == Operation::Other
        && image.bytes_at(insn.svma).is_some_and(|code| code.starts_with(&SB))
}

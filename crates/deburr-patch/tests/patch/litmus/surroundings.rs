//! What is before and after a site in its thread, and what the other thread does.
//!
//! Locations: x is the site's, y and z are others. The surroundings use x19 to x28: x19 is read before the site, x20 is what
//! the site loaded, x22 is read after it, x24 to x26 hold the addresses of x, y and z, x27 what is stored, x28 is scratch.

use super::shape::{Exit, Sequence, Shape};
use super::state::address;

pub(super) const X: usize = 0;
pub(super) const Y: usize = 1;
pub(super) const Z: usize = 2;
/// What the site's thread stores elsewhere than at the site.
const STORED: u64 = 3;
/// What the other thread stores to a location, first and second.
pub(super) const OTHERS: [u64; 2] = [5, 6];
pub(super) const RET: u32 = 0xd65f_03c0;
pub(super) const DMB_ISH: u32 = 0xd503_3bbf;
const ISB: u32 = 0xd503_3fdf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Access {
    Read,
    Acquire,
    /// `ldapr`
    AcquireProcessor,
    Write,
    Release,
}

pub(super) const ACCESSES: [Access; 5] =
    [Access::Read, Access::Acquire, Access::AcquireProcessor, Access::Write, Access::Release];

impl Access {
    pub(super) fn is_read(self) -> bool {
        !matches!(self, Access::Write | Access::Release)
    }

    fn word(self, size: u32, base: u32, register: u32) -> u32 {
        let word = match self {
            Access::Read => 0x3940_0000,
            Access::Acquire => 0x08df_fc00,
            Access::AcquireProcessor => 0x38bf_c000,
            Access::Write => 0x3900_0000,
            Access::Release => 0x089f_fc00,
        };
        word | size.min(3) << 30 | base << 5 | register
    }
}

/// From a read of the surroundings to the site, or from the site's read to the surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Dependence {
    None,
    Address,
    Data,
    Control,
    /// Control and `isb`.
    ControlBarrier,
    /// By address, on what was read directly before.
    Chained,
}

pub(super) const DEPENDENCES: [Dependence; 5] = [
    Dependence::None,
    Dependence::Address,
    Dependence::Data,
    Dependence::Control,
    Dependence::ControlBarrier,
];

/// An access, and how it depends on the site or the site on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Neighbour {
    pub(super) access: Access,
    pub(super) location: usize,
    pub(super) dependence: Dependence,
}

/// All around a site.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Surroundings {
    pub(super) before: Option<Neighbour>,
    /// Barriers directly before and after the site.
    pub(super) barriers: [Option<u32>; 2],
    pub(super) after: Vec<Neighbour>,
    pub(super) exit: Exit,
}

/// A function: instructions, and where the site is in it.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) words: Vec<u32>,
    pub(super) site: usize,
    pub(super) registers: Vec<(u32, u64)>,
}

const BASE: u32 = 2;
/// The registers that belong to the outcome.
pub(super) const SEEN: [u32; 4] = [19, 20, 22, 23];
pub(super) const SEEN_BY_OTHER: [u32; 2] = [19, 22];

/// `eor w28, rN, rN; add x28, x28, rM`: rM, with a dependency on rN.
fn depending(register: u32, on: u32) -> [u32; 2] {
    [0xca00_0000 | on << 16 | on << 5 | 28, 0x8b00_0000 | register << 16 | 28 << 5 | 28]
}

/// The size of a location; `size` is that of x.
fn size_of(size: u32, location: usize) -> u32 {
    if location == X { size } else { 2 }
}

/// `cbnz wN, #4`
fn branch(register: u32) -> u32 {
    0x3500_0020 | register
}

/// The thread with a site.
pub(super) fn function(shape: &Shape, order: u32, around: &Surroundings) -> Function {
    let mut before = Vec::new();
    let operand = shape.sequence(order, 0).operand;
    if let Some(Neighbour { access, location, dependence }) = around.before {
        let register = if access.is_read() { 19 } else { 27 };
        before.push(access.word(size_of(shape.size, location), 24 + location as u32, register));
        match dependence {
            Dependence::None => {}
            Dependence::Address => {
                before.extend(depending(BASE, 19));
                before.push(0xaa1c_03e0 | BASE); // mov x2, x28
            }
            Dependence::Data => {
                before.extend(depending(operand, 19));
                before.push(0xaa1c_03e0 | operand); // mov operand, x28
            }
            Dependence::Chained => unreachable!("nothing is before"),
            Dependence::Control => before.push(branch(19)),
            Dependence::ControlBarrier => before.extend([branch(19), ISB]),
        }
    }
    before.extend(around.barriers[0]);
    let after = after(shape.size, around);
    // After the sequence: mov x20, old; what follows; ret; mov x20, old; ret.
    let spare = shape.spare();
    let exit = match around.exit {
        Exit::Joins => 0,
        Exit::Skips => (spare.len() + after.len()) as i32 + 2,
    };
    let Sequence { words, old, .. } = shape.sequence(order, exit);
    let copy = old.map_or(0xd503_201f, |old| 0xaa00_03e0 | old << 16 | 20);
    let site = before.len();
    let words = [&before[..], &words[..], &[copy], spare, &after[..], &[RET, copy], spare, &[RET]].concat();
    let mut registers = shape.registers();
    registers.push((BASE, address(X)));
    registers.extend(own_registers());
    Function { words, site, registers }
}

/// The registers of the surroundings in the site's thread.
pub(super) fn own_registers() -> [(u32, u64); 8] {
    let places = [(24, address(X)), (25, address(Y)), (26, address(Z))];
    let [x, y, z] = places;
    [x, y, z, (27, STORED), (19, 0), (20, 0), (22, 0), (23, 0)]
}

/// The instructions after a site.
pub(super) fn after(size: u32, around: &Surroundings) -> Vec<u32> {
    let mut words: Vec<u32> = around.barriers[1].into_iter().collect();
    for (at, &Neighbour { access, location, dependence }) in around.after.iter().enumerate() {
        let (mut base, mut register) =
            (24 + location as u32, if access.is_read() { 22 + at as u32 } else { 27 });
        match dependence {
            Dependence::None => {}
            Dependence::Address => {
                words.extend(depending(base, 20));
                base = 28;
            }
            Dependence::Chained => {
                words.extend(depending(base, 22));
                base = 28;
            }
            Dependence::Data => {
                words.extend(depending(register, 20));
                register = 28;
            }
            Dependence::Control => words.push(branch(20)),
            Dependence::ControlBarrier => words.extend([branch(20), ISB]),
        }
        words.push(access.word(size_of(size, location), base, register));
    }
    words
}

/// What the other thread does: an access or two, each a read or not and its location. Two are ordered, by a full barrier, or
/// not; no other order of two accesses is between these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Other {
    pub(super) first: (bool, usize),
    pub(super) second: Option<(bool, usize)>,
    pub(super) is_ordered: bool,
}

impl Other {
    pub(super) fn words(&self, size: u32) -> Vec<u32> {
        let word = |(is_read, location): (bool, usize), read: u32, written: u32| {
            let access = if is_read { Access::Read } else { Access::Write };
            access.word(size_of(size, location), 24 + location as u32, if is_read { read } else { written })
        };
        let mut words = vec![word(self.first, 19, 20)];
        if let Some(second) = self.second {
            words.extend(self.is_ordered.then_some(DMB_ISH));
            words.push(word(second, 22, if second == self.first { 21 } else { 20 }));
        }
        words.push(RET);
        words
    }

    pub(super) fn registers() -> Vec<(u32, u64)> {
        let places = [(24, address(X)), (25, address(Y)), (26, address(Z))];
        let values = [(20, OTHERS[0]), (21, OTHERS[1]), (19, 0), (22, 0)];
        places.into_iter().chain(values).collect()
    }

    /// What it stores, by location.
    pub(super) fn stored(&self) -> [Vec<u128>; 3] {
        let mut stored: [Vec<u128>; 3] = Default::default();
        for (is_read, location) in [Some(self.first), self.second].into_iter().flatten() {
            if !is_read {
                let value = OTHERS[stored[location].len()];
                stored[location].push(u128::from(value));
            }
        }
        stored
    }
}

/// Every other thread that meets what a thread accesses: one access of x, and all pairs. With the thread's own accesses these
/// are message passing, store buffering, load buffering, S, R, 2+2W and coherence.
pub(super) fn others(locations: &[usize]) -> Vec<Other> {
    let accesses: Vec<(bool, usize)> =
        locations.iter().flat_map(|&location| [(true, location), (false, location)]).collect();
    let mut all =
        [true, false].map(|is_read| Other { first: (is_read, X), second: None, is_ordered: false }).to_vec();
    for (&first, &second) in
        accesses.iter().flat_map(|first| accesses.iter().map(move |second| (first, second)))
    {
        all.extend([false, true].map(|is_ordered| Other { first, second: Some(second), is_ordered }));
    }
    all
}

pub(super) const NOWHERE: Surroundings =
    Surroundings { before: None, barriers: [None; 2], after: Vec::new(), exit: Exit::Joins };
/// `dmb ish`, `dmb ishld`, `dmb ishst`
pub(super) const BARRIERS: [u32; 3] = [DMB_ISH, 0xd503_39bf, 0xd503_3abf];

/// What may be before a site: one access of y, and what of the site depends on it.
fn befores() -> Vec<Option<Neighbour>> {
    let mut all = vec![None];
    for access in ACCESSES {
        let dependences = if access.is_read() { &DEPENDENCES[..] } else { &DEPENDENCES[..1] };
        all.extend(dependences.iter().map(|&dependence| Some(Neighbour { access, location: Y, dependence })));
    }
    all
}

/// What may be after a site: one access of each location, and how it depends on the site.
fn afters() -> Vec<Vec<Neighbour>> {
    let mut all = vec![Vec::new()];
    for access in ACCESSES {
        for (location, dependence) in
            [X, Y, Z].into_iter().flat_map(|location| DEPENDENCES.map(|by| (location, by)))
        {
            // A read has no data.
            if dependence != Dependence::Data || !access.is_read() {
                all.push(vec![Neighbour { access, location, dependence }]);
            }
        }
    }
    all
}

/// Two accesses after a site: the first depends on it, or is to the same location, and the second depends on the first or on
/// nothing.
fn twos() -> Vec<Vec<Neighbour>> {
    let mut all = Vec::new();
    for one in afters().into_iter().flatten().filter(|one| one.location != Z) {
        if one.dependence == Dependence::None && one.location != X {
            continue;
        }
        for access in [Access::Read, Access::Write] {
            let second = |dependence| vec![one, Neighbour { access, location: Z, dependence }];
            all.push(second(Dependence::None));
            all.extend(one.access.is_read().then(|| second(Dependence::Chained)));
        }
    }
    all
}

/// All surroundings of a shape.
pub(super) fn all(shape: &Shape) -> Vec<Surroundings> {
    let exits: &[Exit] = if shape.has_exit() { &[Exit::Joins, Exit::Skips] } else { &[Exit::Joins] };
    let mut all = Vec::new();
    for &exit in exits {
        for before in befores() {
            all.extend(afters().into_iter().map(|after| Surroundings { before, after, exit, ..NOWHERE }));
        }
        all.extend(twos().into_iter().map(|after| Surroundings { after, exit, ..NOWHERE }));
        let is_free =
            |neighbours: &Vec<Neighbour>| neighbours.iter().all(|one| one.dependence == Dependence::None);
        for before in befores().into_iter().filter(|before| is_free(&before.iter().copied().collect())) {
            for after in afters().into_iter().filter(is_free) {
                for barrier in BARRIERS {
                    for barriers in [[Some(barrier), None], [None, Some(barrier)], [Some(barrier); 2]] {
                        let after = after.clone();
                        all.push(Surroundings { before, barriers, after, exit });
                    }
                }
            }
        }
    }
    all
}

impl Surroundings {
    /// The locations that the thread accesses.
    pub(super) fn locations(&self) -> Vec<usize> {
        let mut all = vec![X];
        all.extend(self.before.iter().chain(&self.after).map(|neighbour| neighbour.location));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// How much there is, to find the smallest.
    pub(super) fn weight(&self) -> usize {
        let neighbours: Vec<_> = self.before.iter().chain(&self.after).collect();
        let depending = neighbours.iter().filter(|one| one.dependence != Dependence::None).count();
        2 * neighbours.len() + self.barriers.iter().flatten().count() + depending
    }
}

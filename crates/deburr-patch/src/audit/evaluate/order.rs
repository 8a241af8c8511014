//! Patch stage, audit, evaluate: what a run orders by what it computes from what.
//!
//! In: the operations of a run, one after another. Out: an [`Order`]: the sources of each register, of the flags, and of
//! the branches that were passed. A processor orders an access after the load that its address or data comes from, and a
//! store after the load that a branch before it turns on (Arm ARM, B2.3, "Dependency definitions"). This is by
//! instructions, whatever the values are: `eor x1, x1, x1` keeps the dependency on x1. So sources are followed rather than
//! searched for by other values; a test changes one source at a time and finds no effect that is not followed.

use super::operation::{Operation, Set, ZERO};

/// A set of sources: bit n is what register n had at the start, then what it began with in flags and what was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Sources(u64);

const FLAGS: Sources = Sources(1 << 32);
/// What the one access loads.
pub(crate) const LOADED: Sources = Sources(1 << 33);

impl Sources {
    pub(crate) const fn with(self, other: Sources) -> Sources {
        Sources(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Sources) -> Sources {
        Sources(self.0 & !other.0)
    }

    /// Whether all of these are among others.
    pub(crate) const fn are_in(self, others: Sources) -> bool {
        self.0 & !others.0 == 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a run has computed from what so far.
#[derive(Clone)]
pub(crate) struct Order {
    /// By register, the stack pointer last.
    pub(crate) registers: [Sources; 32],
    pub(crate) flags: Sources,
    /// What the branches so far turned on.
    pub(crate) control: Sources,
}

impl Order {
    pub(crate) fn new() -> Order {
        Order {
            registers: std::array::from_fn(|number| Sources(1 << number)),
            flags: FLAGS,
            control: Sources::default(),
        }
    }

    /// What some registers, and the flags if wanted, come from.
    pub(crate) fn sources(&self, registers: Set, with_flags: bool) -> Sources {
        let mut found = if with_flags { self.flags } else { Sources::default() };
        let mut rest = registers & ((1 << ZERO) - 1);
        while rest != 0 {
            let number = rest.trailing_zeros() as usize;
            found = found.with(self.registers.get(number).copied().unwrap_or_default());
            rest &= rest - 1;
        }
        found
    }

    fn write(&mut self, registers: Set, sources: Sources) {
        let mut rest = registers & ((1 << ZERO) - 1);
        while rest != 0 {
            if let Some(register) = self.registers.get_mut(rest.trailing_zeros() as usize) {
                *register = sources;
            }
            rest &= rest - 1;
        }
    }

    /// Takes in the next operation.
    pub(crate) fn follow(&mut self, operation: &Operation) {
        let sources = match operation {
            Operation::LoadExclusive { .. } | Operation::Update { .. } | Operation::CompareSwap { .. } => {
                LOADED
            }
            // Of the status nothing depends on what was loaded. What a plain load reads is not what the access loads.
            Operation::StoreExclusive { .. } | Operation::Guess { .. } | Operation::LoadTwo { .. } => {
                Sources::default()
            }
            Operation::Load { to, base, moves, .. } => {
                let moved = self.sources(1 << base, false);
                self.write(1 << to, Sources::default());
                if *moves != 0 {
                    self.write(1 << base, moved);
                }
                return;
            }
            other => self.sources(other.inputs(), other.reads_flags()),
        };
        match operation {
            Operation::Branch { .. } => self.control = self.control.with(sources),
            other => self.write(other.outputs(), sources),
        }
        if operation.writes_flags() {
            self.flags = sources;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::{Machine, Run, Seen, Side};
    use super::super::program::Program;
    use super::super::question::Manner;
    use super::super::states::{Random, World};
    use super::*;

    /// Fixed bits, those that are drawn, and the fields of registers.
    const FORMS: [(u32, u32, &[u32]); 13] = [
        (0x1100_0000, 0xe07f_fc00, &[0, 5]),     // add, sub of an immediate
        (0x1200_0000, 0xe07f_fc00, &[0, 5]),     // and, orr, eor of an immediate
        (0x1280_0000, 0xe07f_ffe0, &[0]),        // movn, movz, movk
        (0x1300_0000, 0xe07f_fc00, &[0, 5]),     // sbfm, bfm, ubfm
        (0x1380_0000, 0x8040_fc00, &[0, 5, 16]), // extr
        (0x0a00_0000, 0xe0e0_fc00, &[0, 5, 16]), // and, orr, eor
        (0x0b00_0000, 0xe0c0_fc00, &[0, 5, 16]), // add, sub
        (0x0b20_0000, 0xe000_fc00, &[0, 5, 16]), // add, sub, extended
        (0x3a40_0000, 0xc000_f80f, &[5, 16]),    // ccmn, ccmp
        (0x1a80_0000, 0xc000_f400, &[0, 5, 16]), // csel
        (0x1ac0_2000, 0x8000_0c00, &[0, 5, 16]), // lslv
        (0x1b00_0000, 0x8000_8000, &[0, 5, 16]), // madd
        (0x3400_0040, 0x8100_0000, &[0]),        // cbz, cbnz #+8
    ];

    fn world(random: &mut Random) -> World {
        World {
            registers: std::array::from_fn(|_| random.next() >> (random.next() & 63)),
            flags: (random.next() & 15) as u8,
            memory: [random.next(), 0],
            earlier: [[0; 2]; 2],
            guesses: [0; 2],
            failures: 0,
            garbage: None,
            loads: [0; 4],
        }
    }

    fn run(program: &Program, world: &World) -> Run {
        let (manner, mut seen) = (Manner::Exclusives { may_retry: false }, Seen::default());
        let side = Side::Old { may_fail: false };
        Machine::new(world, side, manner, &mut seen).run(program).expect("plain instructions")
    }

    /// Changes one source at a time, among x0 to x3, the flags and memory: what it changes is what comes from it.
    #[test]
    fn nothing_changes_with_a_source_that_is_not_followed() {
        let (mut random, mut changed, mut unchanged) = (Random(3), 0, 0);
        for _ in 0..60_000 {
            // ldxr x0, [x6], and others
            let mut words = vec![0xc85f_7cc0];
            while words.len() < 7 {
                let (fixed, drawn, fields) = FORMS[(random.next() % FORMS.len() as u64) as usize];
                let mut word = fixed | random.next() as u32 & drawn;
                for field in fields {
                    word |= (random.next() as u32 & 3) << field;
                }
                if Program::new(&[word], 0, 1).is_ok() {
                    words.push(word);
                }
            }
            let program = Program::new(&words, 0, words.len()).expect("understood");
            let before = world(&mut random);
            let first = run(&program, &before);
            for source in [0_u32, 1, 2, 3, 32, 33] {
                let mut after = before.clone();
                match source {
                    32 => after.flags ^= 1 << (random.next() & 3),
                    33 => after.memory[0] = random.next(),
                    _ => after.registers[source as usize] = random.next(),
                }
                let second = run(&program, &after);
                let source = Sources(1 << source);
                if source.are_in(first.order.control) {
                    continue;
                }
                for number in 0..4 {
                    let differs = first.registers[number] != second.registers[number];
                    let is_followed = source.are_in(first.order.registers[number]);
                    assert!(!differs || is_followed, "{words:08x?}: x{number} of {source:?}");
                    *(if differs { &mut changed } else { &mut unchanged }) += 1;
                }
                assert!(first.flags == second.flags || source.are_in(first.order.flags), "{words:08x?}");
                assert_eq!(first.leaves_to, second.leaves_to);
            }
        }
        assert!(changed > 50_000 && unchanged > 50_000, "{changed} {unchanged}");
    }
}

//! What the registers of a short loop carry from one iteration to the next, where its body is one run of instructions.
//! It is determined without all facts, to sort out the many loops that go through memory or compute.
//!
//! In: what each instruction of an iteration reads and writes, as far as it is easily seen. Out: whether the loop
//! surely moves what it loads from, or carries more than counters. Reads may be left out, but never writes.

/// A set of general registers, by number.
pub(super) type Set = u32;

/// One iteration.
pub(super) struct Iteration {
    /// By register, of which registers' values at the beginning of the iteration its own is made.
    made_of: [Set; 32],
    written: Set,
    /// What addresses are made of.
    addressed: Set,
    /// Registers that may only count.
    counting: Set,
}

impl Iteration {
    pub(super) fn new() -> Iteration {
        let mut made_of = [0; 32];
        made_of.iter_mut().zip(0..).for_each(|(set, number)| *set = 1 << number);
        Iteration { made_of, written: 0, addressed: 0, counting: 0 }
    }

    /// What some registers are made of.
    fn all_of(&self, registers: Set) -> Set {
        members(registers).fold(0, |all, number| all | self.made_of.get(number).copied().unwrap_or(0))
    }

    /// Passes a load from where some registers lead to.
    pub(super) fn load(&mut self, address: Set) {
        self.addressed |= self.all_of(address);
    }

    /// Passes an instruction that makes registers of others. `counts`: whether it copies, or adds or subtracts 1.
    pub(super) fn make(&mut self, written: Set, read: Set, counts: bool) {
        let all = self.all_of(read);
        for number in members(written) {
            if let Some(set) = self.made_of.get_mut(number) {
                *set = all;
            }
        }
        self.written |= written;
        self.counting = if counts { self.counting | written } else { self.counting & !written };
    }

    /// Whether a later iteration loads from elsewhere, or goes on with what an earlier one has made.
    pub(super) fn moves_on(mut self) -> bool {
        // What each value is made of after any number of iterations (Warshall).
        for middle in members(self.written) {
            let more = self.made_of.get(middle).copied().unwrap_or(0);
            self.made_of.iter_mut().filter(|set| **set >> middle & 1 != 0).for_each(|set| *set |= more);
        }
        let carries = |&number: &usize| self.made_of.get(number).is_some_and(|set| set >> number & 1 != 0);
        let carried = members(self.written).filter(carries).fold(0, |set, number| set | 1 << number);
        carried & !self.counting != 0
            || carried & (self.addressed | self.all_of(self.addressed & self.written)) != 0
    }
}

/// The numbers in a set.
fn members(set: Set) -> impl Iterator<Item = usize> {
    let mut rest = set;
    std::iter::from_fn(move || {
        let number = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (number < Set::BITS).then_some(number as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers 0 and 1.
    const R0: Set = 1;
    const R1: Set = 2;
    const R2: Set = 4;

    #[test]
    fn a_pointer_that_is_loaded_or_moved_through_another_register_moves_on() {
        let mut list = Iteration::new();
        list.load(R0);
        list.make(R0, R0, false);
        assert!(list.moves_on());
        // r1 = r0 + 8; r0 = [r1]
        let mut two_steps = Iteration::new();
        two_steps.make(R1, R0, false);
        two_steps.load(R1);
        two_steps.make(R0, R1, false);
        assert!(two_steps.moves_on());
    }

    #[test]
    fn what_is_made_anew_each_iteration_or_only_counts_stays() {
        // r1 = [r0]; r1 = r1 & 7; r2 = r2 - 1
        let mut wait = Iteration::new();
        wait.load(R0);
        wait.make(R1, R0, false);
        wait.make(R1, R1, false);
        wait.make(R2, R2, true);
        assert!(!wait.moves_on());
    }

    #[test]
    fn sums_and_counted_addresses_move_on() {
        let mut sum = Iteration::new();
        sum.load(R0);
        sum.make(R1, R0, false);
        sum.make(R2, R2 | R1, false);
        assert!(sum.moves_on());
        let mut indexed = Iteration::new();
        indexed.make(R1, R1, true);
        indexed.load(R0 | R1);
        indexed.make(R2, R0 | R1, false);
        assert!(indexed.moves_on());
    }
}

//! What a rewriter may get wrong, done to every right replacement: each of its decisions, one at a time.
//!
//! A mutant that the prover accepts must do the same in the second interpreter, in states that store and
//! states that fail.

use crate::interpreter::execute;
use crate::pairs::PAIRS;
use crate::states::states;
use crate::templates::fields;
use crate::{Pair, agree_in, is_of_order, words};
use deburr_patch::{Refusal, State, prove};
use std::collections::{BTreeMap, BTreeSet, HashSet};

const NOP: u32 = 0xd503_201f;

/// What the rewriter decided wrongly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Decision {
    Order,
    Operation,
    Size,
    Operand,
    Status,
    SetUp,
    Constant,
    Width,
    Flags,
    Kept,
    Branch,
    Place,
}

fn is_update(word: u32) -> bool {
    word & 0x3f20_0c00 == 0x3820_0000
}

fn is_compare_and_swap(word: u32) -> bool {
    word & 0x3fa0_7c00 == 0x08a0_7c00
}

fn is_pair(word: u32) -> bool {
    word & 0xbfa0_7c00 == 0x0820_7c00
}

fn is_branch(word: u32) -> bool {
    word >> 24 == 0x54 || word & 0x7c00_0000 == 0x3400_0000 || word & 0xfc00_0000 == 0x1400_0000
}

/// `mov wN, wzr`: the status of a store-exclusive that succeeds.
fn is_status(word: u32) -> bool {
    word & !31 == 0x2a1f_03e0
}

/// Data processing: neither access nor branch nor barrier.
fn computes(word: u32) -> bool {
    matches!(word >> 25 & 15, 0b1000 | 0b1001 | 0b0101 | 0b1101)
}

pub(crate) struct Mutants<'a> {
    old: &'a [u32],
    new: &'a [u32],
    registers: BTreeSet<u32>,
    found: Vec<(Decision, Vec<u32>)>,
}

impl Mutants<'_> {
    pub(crate) fn of(old: &[u32], new: &[u32]) -> Vec<(Decision, Vec<u32>)> {
        let all = || old.iter().chain(new);
        let named = all().flat_map(|word| fields(*word).iter().map(move |at| word >> at & 31));
        let registers = named.filter(|register| *register != 31).collect();
        let mut mutants = Mutants { old, new, registers, found: Vec::new() };
        let atomic =
            new.iter().position(|word| is_update(*word) || is_compare_and_swap(*word) || is_pair(*word));
        let atomic = atomic.expect("an atomic");
        mutants.atomic(atomic);
        for (index, word) in new.iter().copied().enumerate() {
            if is_status(word) && index > atomic {
                mutants.status(index, word);
            } else if is_branch(word) {
                mutants.branch(index, word);
            } else if computes(word) && old.contains(&word) {
                mutants.kept(index, word);
            } else if computes(word) && index < atomic {
                mutants.set_up(index, word);
            } else if word >> 24 == 0xd5 && word != NOP {
                mutants.put(Decision::Kept, index, NOP);
            }
        }
        mutants.found
    }

    fn put(&mut self, decision: Decision, index: usize, word: u32) {
        let mut mutant = self.new.to_vec();
        mutant[index] = word;
        self.found.push((decision, mutant));
    }

    /// The atomic itself, and where it is.
    fn atomic(&mut self, index: usize) {
        let word = self.new[index];
        let (acquire, release) = if is_update(word) { (1 << 23, 1 << 22) } else { (1 << 22, 1 << 15) };
        // Letters that no exclusive has are none to lose.
        let ordered = |fixed: u32| {
            let is = |word: &u32| {
                word & 0x3fe0_fc00 == fixed || word & 0xbfe0_8000 == fixed & 0x3fc0_8000 | 1 << 31 | 1 << 21
            };
            self.old.iter().any(is)
        };
        let needed = [(ordered(0x0840_fc00), acquire), (ordered(0x0800_fc00), release)];
        let needed: Vec<u32> =
            needed.iter().filter(|(ordered, _)| *ordered).map(|(_, letter)| *letter).collect();
        for lost in &needed {
            self.put(Decision::Order, index, word & !lost);
            // The other letter in its place.
            self.put(Decision::Order, index, word & !lost | ((acquire | release) & !lost));
        }
        if !needed.is_empty() {
            self.put(Decision::Order, index, word & !(acquire | release));
        }
        for size in 0..4 {
            self.put(Decision::Size, index, word & !(3 << 30) | size << 30);
        }
        if is_update(word) {
            (0..9).for_each(|change| self.put(Decision::Operation, index, word & !(15 << 12) | change << 12));
        } else if !is_pair(word) {
            // swp of the new value, whatever the old one is.
            let letters = (word >> 22 & 1) << 23 | (word >> 15 & 1) << 22;
            let (value, expected) = (word & 31, word >> 16 & 31);
            let rest = word & (3 << 30 | 31 << 5);
            self.put(Decision::Operation, index, 0x3820_8000 | rest | letters | value << 16 | expected);
        }
        self.registers_of(Decision::Operand, index);
        for (a, b) in [(0, 16), (0, 5), (5, 16)] {
            let [first, second] = [a, b].map(|at| word >> at & 31);
            let swapped = word & !(31 << a | 31 << b) | second << a | first << b;
            self.put(Decision::Operand, index, swapped);
        }
        for other in [index.checked_sub(1), Some(index + 1)].into_iter().flatten() {
            let mut mutant = self.new.to_vec();
            if other < mutant.len() && mutant[other] != NOP && !is_status(mutant[other]) {
                mutant.swap(index, other);
                self.found.push((Decision::Place, mutant));
            }
        }
    }

    /// Each register of an instruction, by each other one and by 31.
    fn registers_of(&mut self, decision: Decision, index: usize) {
        let word = self.new[index];
        let others: Vec<u32> = self.registers.iter().copied().chain([31]).collect();
        // The zero register as a first operand or a thrown-away result is part of the operation: mov, neg,
        // cmp.
        for at in fields(word)
            .iter()
            .filter(|at| **at == 16 || decision == Decision::Operand || word >> **at & 31 != 31)
        {
            others.iter().for_each(|other| self.put(decision, index, word & !(31 << at) | other << at));
        }
    }

    fn status(&mut self, index: usize, word: u32) {
        self.put(Decision::Status, index, NOP);
        self.put(Decision::Status, index, 0x5280_0020 | word & 31); // mov wN, #1
        self.put(Decision::Status, index, 0x1280_0000 | word & 31); // mov wN, #-1
        let others: Vec<u32> = self.registers.iter().copied().filter(|other| *other != word & 31).collect();
        others.iter().for_each(|other| self.put(Decision::Status, index, word & !31 | other));
        // Before all else, where that is too early.
        let mut mutant = self.new.to_vec();
        mutant[..=index].rotate_right(1);
        let names_it = |earlier: &u32| fields(*earlier).iter().any(|at| earlier >> at & 31 == word & 31);
        if mutant[1..=index].iter().any(names_it) {
            self.found.push((Decision::Place, mutant));
        }
    }

    fn branch(&mut self, index: usize, word: u32) {
        self.put(Decision::Branch, index, NOP);
        if word >> 26 == 5 {
            for by in [1, 2, 4, 0x3ff_ffff, 0x3ff_fffe] {
                self.put(Decision::Branch, index, word & !0x3ff_ffff | (word + by) & 0x3ff_ffff);
            }
            return;
        }
        let offset = word >> 5 & 0x7_ffff;
        for by in [1, 2, 4, 0x7_ffff, 0x7_fffe] {
            self.put(Decision::Branch, index, word & !(0x7_ffff << 5) | ((offset + by) & 0x7_ffff) << 5);
        }
        if word >> 24 == 0x54 {
            for condition in (0..15).filter(|condition| *condition != word & 15) {
                self.put(Decision::Branch, index, word & !15 | condition);
            }
        } else {
            self.put(Decision::Branch, index, word ^ 1 << 24);
            self.put(Decision::Branch, index, word ^ 1 << 31);
            self.registers_of(Decision::Branch, index);
        }
    }

    /// An instruction of the loop, run again after the atomic.
    fn kept(&mut self, index: usize, word: u32) {
        self.put(Decision::Kept, index, NOP);
        self.put(Decision::Width, index, word ^ 1 << 31);
        let add = matches!(word >> 24 & 31, 0b01011 | 0b10001);
        if add {
            self.put(Decision::Flags, index, word ^ 1 << 29);
            self.put(Decision::Kept, index, word ^ 1 << 30);
        }
        // cmp with uxtb, uxth, sxtb, sxth: without, and with the other sign or size.
        if word & 0x1fe0_0000 == 0x0b20_0000 {
            self.put(Decision::Width, index, word & !(0x003f << 10 | 1 << 21));
            (0..8).for_each(|extend| self.put(Decision::Width, index, word & !(7 << 13) | extend << 13));
        }
        self.constant(index, word);
        // Exchanged operands, where that is another result.
        let commutes = word & 0x5f20_fc00 == 0x0b00_0000 || word & 0x1f20_fc00 == 0x0a00_0000;
        if fields(word).contains(&16) && !commutes {
            let (n, m) = (word >> 5 & 31, word >> 16 & 31);
            self.put(Decision::Kept, index, word & !(31 << 16 | 31 << 5) | n << 16 | m << 5);
        }
        self.registers_of(Decision::Kept, index);
    }

    /// What makes the atomic's operand.
    fn set_up(&mut self, index: usize, word: u32) {
        self.put(Decision::SetUp, index, NOP);
        // Half of eight bytes; what is too wide makes no difference.
        let is_wide = |word: &u32| word & 0xffff_7c00 == 0xc85f_7c00 || word & 0xffff_0000 == 0xc87f_0000;
        if self.old.iter().any(is_wide) && word >> 31 == 1 {
            let narrow = word & !(1 << 31);
            let bitfield = word & 0x1f80_0000 == 0x1300_0000;
            self.put(Decision::Width, index, if bitfield { narrow & !(1 << 22) } else { narrow });
        }
        let (size, rd, rm) = (word & 1 << 31, word & 31, word >> 16 & 31);
        if fields(word).contains(&16) && word >> 5 & 31 == 31 && rm != 31 {
            let amount = word & (0x3f << 10 | 3 << 22);
            for opcode in [0x2a00_03e0, 0x2a20_03e0, 0x4b00_03e0] {
                // mov, mvn, neg
                self.put(Decision::SetUp, index, opcode | size | amount | rm << 16 | rd);
            }
        }
        self.constant(index, word);
        self.registers_of(Decision::SetUp, index);
    }

    /// Immediates and shifts.
    fn constant(&mut self, index: usize, word: u32) {
        let changes: Vec<u32> = match word {
            _ if word & 0x1f80_0000 == 0x1280_0000 => {
                let (value, movn) = (word >> 5 & 0xffff, word ^ 1 << 30);
                let with = |value: u32| word & !(0xffff << 5) | (value & 0xffff) << 5;
                let (up, down) = (with(value + 1), with(value.wrapping_sub(1)));
                vec![up, down, with(value << 1 | 1), with(!value), movn, word ^ 1 << 21]
            }
            _ if word & 0x1f00_0000 == 0x1100_0000 => {
                let value = word >> 10 & 0xfff;
                let with = |value: u32| word & !(0xfff << 10) | (value & 0xfff) << 10;
                vec![with(value + 1), with(value.wrapping_sub(1)), with(value << 1 | 1), word ^ 1 << 22]
            }
            _ if word & 0x1f00_0000 == 0x1200_0000 || word & 0x1f00_0000 == 0x1300_0000 => {
                vec![word ^ 1 << 10, word ^ 1 << 11, word ^ 1 << 16, word ^ 1 << 17]
            }
            _ if word >> 16 & 31 == 31 => vec![],
            _ if word & 0x1e20_0000 == 0x0a00_0000 || word & 0x1f20_0000 == 0x0a20_0000 => {
                vec![word ^ 1 << 10, word ^ 1 << 11, word ^ 3 << 10]
            }
            _ => vec![],
        };
        changes.iter().for_each(|change| self.put(Decision::Constant, index, *change));
    }
}

/// States in which the sequence stores and, if it may fail, as many in which it does not.
fn telling_states(name: &str, old: &[u32]) -> Vec<State> {
    let mut all = states(256);
    for at in 0..64 {
        let pair = |low: u64, high: u64| u128::from(low) | u128::from(high) << 64;
        let held = |register: usize| pair(all[at].registers[register], all[at].registers[register + 1]);
        let narrow = |register: usize| {
            let [low, high] = [0, 1].map(|next| all[at].registers[register + next]);
            u128::from(low & 0xffff_ffff | high << 32)
        };
        let pairs = (0..9).map(held).chain((0..9).map(narrow));
        for memory in pairs.chain([0, 7]).collect::<Vec<_>>() {
            all.push(State { memory, ..all[at].clone() });
        }
    }
    let stores = |state: &&State| {
        let outcome = execute(old, state).expect(name);
        outcome.access.expect(name).stored.is_some()
    };
    let (stored, failed): (Vec<&State>, Vec<&State>) = all.iter().partition(stores);
    let conditional = old.iter().any(|word| word >> 24 == 0x54 || word & 0x7f00_0000 == 0x3400_0000)
        || old.iter().filter(|word| is_branch(**word)).count() > 1;
    assert!(stored.len() >= 32, "{name}: {} states store", stored.len());
    assert!(
        !conditional || name == "add, gcc 7" || failed.len() >= 128,
        "{name}: {} states fail",
        failed.len()
    );
    all
}

#[test]
fn what_a_rewriter_gets_wrong_is_refused() {
    let mut counts: BTreeMap<Decision, [usize; 3]> = BTreeMap::new();
    let mut accepted = Vec::new();
    for Pair { name, old, new } in PAIRS.iter() {
        let (old, new) = (words(old), words(new));
        let states = telling_states(name, &old);
        let mut seen = HashSet::from([new.clone()]);
        for (decision, mutant) in Mutants::of(&old, &new) {
            if !seen.insert(mutant.clone()) {
                continue;
            }
            let [refuted, refused, equivalent] = counts.entry(decision).or_default();
            match prove(&old, &mutant) {
                Ok(_) => {
                    let apart = states.iter().find(|state| !agree_in(&old, &mutant, state));
                    assert_eq!(apart, None, "{name}: {mutant:x?} accepted");
                    *equivalent += 1;
                    let index = mutant.iter().zip(&new).position(|(mutant, new)| mutant != new).unwrap_or(0);
                    let (mutant, new) = (mutant[index], new[index]);
                    accepted.push(format!("{decision:?}, {name}, word {index}: {mutant:08x} for {new:08x}"));
                }
                Err(Refusal::Different { difference, .. }) if is_of_order(difference) => {
                    *refuted += 1;
                    let apart = states.iter().find(|state| !agree_in(&old, &mutant, state));
                    assert_eq!(apart, None, "{name}: {mutant:x?}: {difference}, and more differs");
                }
                Err(Refusal::Different { state, difference }) => {
                    *refuted += 1;
                    assert!(
                        !agree_in(&old, &mutant, &state),
                        "{name}: {mutant:x?}: {difference}, {state:x?}"
                    );
                }
                Err(_) => *refused += 1,
            }
        }
    }
    let [refuted, refused, equivalent] =
        counts.values().fold([0; 3], |sum, count| std::array::from_fn(|at| sum[at] + count[at]));
    let all = refuted + refused + equivalent;
    let summary = format!(
        "{all} mutants: {refuted} refuted by a state, {refused} refused, {equivalent} equivalent\n{counts:?}\n{accepted:#?}"
    );
    println!("{summary}");
    assert!(all >= 1_000 && counts.len() == 12 && equivalent * 100 <= all, "{summary}");
}

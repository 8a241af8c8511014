//! What a program of the campaign is written with: numbers, registers, labels and slots of memory, all drawn from one seed.

use super::class::{Class, Form};
use super::{Around, Mark};
use crate::mutation::Sequence;
use std::collections::BTreeSet;

/// Where, in bytes from the area's start, operands are: eight of them.
pub(super) const OPERANDS: usize = 64;
/// The operand whose bits choose between routes.
pub(super) const ROUTE: usize = OPERANDS + 8 * 4;
/// Memory that a program may write to, and read again.
pub(super) const SCRATCH: usize = 384;
/// Where a program stores what it has computed.
const RESULTS: usize = 512;
/// Bytes of a program's memory.
pub(super) const AREA: usize = 1024;
/// Registers that linkers may overwrite at any call.
pub(super) const LINKERS: u32 = 1 << 16 | 1 << 17;
/// Registers that are handed out: neither the platform's x18 nor frame, link and stack pointer.
const ALL: u32 = 0x1fff_ffff & !(1 << 18);

/// How a batch of programs is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Linking {
    /// At a fixed address: pointers may be in instructions, and 4 bytes long.
    Fixed,
    /// A program at any address.
    Pie,
    /// A shared object with an entry point.
    Shared,
    /// The same by lld, with pointers in `DT_RELR`.
    Relr,
    /// The same by lld, with relocations whose addend is in their place.
    Rel,
    /// The same by lld, with Android's packed relocations.
    Android,
}

/// Instructions, and the registers that they write.
#[derive(Debug, Clone, Default)]
pub(super) struct Code {
    pub(super) lines: Vec<String>,
    pub(super) writes: u32,
}

impl Code {
    pub(super) fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// Adds an instruction that writes a register.
    pub(super) fn set(&mut self, register: u8, line: impl Into<String>) {
        self.writes |= 1 << register;
        self.push(line);
    }

    pub(super) fn extend(&mut self, other: &Code) {
        self.lines.extend(other.lines.iter().cloned());
        self.writes |= other.writes;
    }
}

/// See the module.
pub(super) struct Pen {
    random: Sequence,
    number: usize,
    labels: usize,
    slots: usize,
    free: u32,
    pub(super) linking: Linking,
    /// The register that holds the address of the program's memory throughout.
    pub(super) area: u8,
    pub(super) around: BTreeSet<Around>,
    /// The classes of surroundings, with their forms.
    pub(super) met: BTreeSet<(Class, Form)>,
    /// Whether something around the site may make rewriting it wrong.
    pub(super) harms: bool,
    /// Whether something else enters the site after its first instruction.
    pub(super) is_entered: bool,
    /// Registers that the outermost function reads after its call, by their bits.
    pub(super) relied: u32,
    /// Functions and data beside the ones that call each other.
    pub(super) other: String,
}

impl Pen {
    pub(super) fn new(seed: u64, number: usize, linking: Linking) -> Pen {
        let mut random = Sequence::new(seed ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for _ in 0..4 {
            random.draw();
        }
        let area = 19 + random.below(10) as u8;
        let free = ALL & !(1 << area);
        let (around, met, other) = (BTreeSet::new(), BTreeSet::new(), String::new());
        let (harms, is_entered, relied) = (false, false, 0);
        Pen {
            random,
            number,
            labels: 0,
            slots: 0,
            free,
            linking,
            area,
            around,
            met,
            harms,
            is_entered,
            relied,
            other,
        }
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit)
    }

    /// Whether something happens that does so in so many of a hundred cases.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let at = self.below(from.len());
        from[at].clone()
    }

    /// A register that nothing else uses, among some.
    pub(super) fn register_among(&mut self, some: u32) -> Option<u8> {
        let free: Vec<u8> = (0..29).filter(|register| (self.free & some) >> register & 1 != 0).collect();
        if free.is_empty() {
            return None;
        }
        let register = self.pick(&free);
        self.free &= !(1 << register);
        Some(register)
    }

    /// A register that nothing else uses.
    pub(super) fn register(&mut self) -> u8 {
        self.register_among(ALL).expect("a program uses few registers")
    }

    /// A register that nothing else uses, often one that a function may overwrite and that holds no result.
    pub(super) fn scratch(&mut self) -> u8 {
        let scratch = if self.chance(60) { 0x7f << 9 } else { ALL };
        self.register_among(scratch).unwrap_or_else(|| self.register())
    }

    /// A register that nothing else uses, the first of a pair of an even one and the next, both taken.
    pub(super) fn pair(&mut self) -> [u8; 2] {
        let free: Vec<u8> = (0..28).step_by(2).filter(|register| self.free >> register & 3 == 3).collect();
        let first = self.pick(&free);
        self.free &= !(3 << first);
        [first, first + 1]
    }

    /// Takes this register, if nothing else uses it.
    pub(super) fn take(&mut self, register: u8) -> bool {
        self.register_among(1 << register).is_some()
    }

    /// Gives a register back.
    pub(super) fn release(&mut self, register: u8) {
        self.free |= 1 << register;
    }

    /// The registers that nothing uses.
    pub(super) fn free(&self) -> u32 {
        self.free
    }

    /// A name that is nobody else's, and not in the file's symbols.
    pub(super) fn label(&mut self) -> String {
        self.labels += 1;
        format!(".L{}_{}_", self.number, self.labels)
    }

    /// Records where a label is, in a section that is taken out of the file before anything else reads it.
    pub(super) fn mark(&mut self, mark: Mark, label: &str) {
        self.record(mark, label, 0, 0);
    }

    /// Records that the program leaves something else with this word at a label, if it runs what a class is about.
    pub(super) fn evidence(&mut self, label: &str, word: u32, class: Class) {
        self.record(Mark::Evidence, label, word, class as u8);
    }

    fn record(&mut self, mark: Mark, label: &str, word: u32, class: u8) {
        let number = self.number;
        self.other += &format!(
            "\t.section .campaign, \"\", %progbits\n\t.quad {number}, {}, {label}, {word:#x}, {class}\n\t.text\n",
            mark as u8
        );
    }

    /// Notes that a class of surroundings is there.
    pub(super) fn meet(&mut self, class: Class, form: Form) {
        self.harms |= form == Form::Harmful;
        self.met.insert((class, form));
    }

    /// The name of one of the program's functions.
    pub(super) fn name(&self, what: &str) -> String {
        format!("{what}_{}", self.number)
    }

    /// A place for something computed, in bytes from the area's start.
    pub(super) fn slot(&mut self) -> usize {
        self.slots = (self.slots + 1) % ((AREA - RESULTS) / 8);
        RESULTS + 8 * self.slots
    }

    /// Stores a register where it is seen.
    pub(super) fn show(&mut self, code: &mut Code, register: u8) {
        let (area, slot) = (self.area, self.slot());
        code.push(format!("str x{register}, [x{area}, #{slot}]"));
    }

    /// Loads the bits that choose between routes, and branches where one of them is set.
    pub(super) fn branch_sometimes(&mut self, code: &mut Code, to: &str) {
        let (area, temporary, bit) = (self.area, self.register(), self.below(4));
        code.set(temporary, format!("ldr x{temporary}, [x{area}, #{ROUTE}]"));
        code.push(format!("tbnz x{temporary}, #{bit}, {to}"));
        self.release(temporary);
    }

    /// Some arithmetic in registers that nothing uses.
    pub(super) fn noise(&mut self, code: &mut Code, most: usize) {
        for _ in 0..self.below(most + 1) {
            let [to, first, second] = [(); 3].map(|()| self.register());
            for register in [to, first, second] {
                self.release(register);
            }
            let shift = self.below(31);
            let line = self.pick(&[
                format!("add x{to}, x{first}, x{second}, lsl #{shift}"),
                format!("eor w{to}, w{first}, w{second}, ror #{shift}"),
                format!("sub x{to}, x{first}, #{shift}"),
                format!("mov w{to}, #{}", 0x55 + shift),
                format!("ubfx x{to}, x{first}, #{shift}, #7"),
                format!("madd x{to}, x{first}, x{second}, x{first}"),
                format!("csel x{to}, x{first}, x{second}, lt"),
                "nop".to_owned(),
            ]);
            match line.as_str() {
                "nop" => code.push(line),
                _ => code.set(to, line),
            }
        }
    }
}

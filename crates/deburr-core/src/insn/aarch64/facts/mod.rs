//! All facts of one instruction.
//!
//! In: a word and its address. Out: [`Insn`]. The base instruction set is read field by field after the encoding tables
//! of DDI 0487 C4.1, since rules and rewriting rest on it. Advanced SIMD, SVE, SME and the rarer extensions are read
//! through the decoder's operand definitions ([`super::operands`]), where the first operand counts as both written and
//! read.

mod access;
mod builder;
mod named;
mod operands;

use crate::address::Svma;
use crate::insn::aarch64::features;
use crate::insn::aarch64::fields::{adr_displacement, adrp_displacement, bits};
use crate::insn::aarch64::plain::settled;
use crate::insn::aarch64::summary::displacement;
use crate::insn::aarch64::summary::{Control, Decoded, define, is_hint, summarize};
use crate::insn::{
    Class, Condition, FeatureGroup, Flow, Insn, Modifier, Operation, Ordering, Reg, RegSet, Step,
};
use builder::{Facts, extension, registers_of_sve, stack_form, zero_form};
use disarm64_defn::{InsnClass as C, InsnFeatureSet as F};

/// Decodes the first instruction of `code`, which is at `svma`; `None` if it is not one.
///
/// `imm` is set for plain immediates only; a register operand that is shifted or extended sets `modified`. The carry
/// forms are [`Operation::Other`].
pub fn decode(code: &[u8], svma: Svma) -> Option<Insn> {
    let word = u32::from_le_bytes(*code.first_chunk::<4>()?);
    let Decoded { summary, definition } = define(word)?;
    let flow = flow_of(summary.control, word, svma);
    let features = FeatureGroup(summary.group as u16);
    let mut facts = Facts::new(word, svma, Insn { class: summary.class, flow, features, ..BLANK });
    let name = definition.mnemonic;
    match definition.class {
        _ if is_hint(word) => facts.hint(),
        C::ADDSUB_IMM if definition.feature_set == F::V8 => facts.add_immediate(),
        C::ADDSUB_SHIFT => facts.add_shifted(),
        C::ADDSUB_EXT => facts.add_extended(),
        C::ADDSUB_CARRY => facts.carry(),
        C::LOG_IMM => facts.logical_immediate(),
        C::LOG_SHIFT => facts.logical_shifted(),
        C::MOVEWIDE => facts.move_wide(),
        C::BITFIELD => facts.bitfield(),
        C::EXTRACT => facts.two_sources(),
        C::PCRELADDR => facts.address(),
        C::CONDSEL => facts.select(),
        C::CONDCMP_IMM | C::CONDCMP_REG => facts.conditional_compare(),
        C::DP_1SRC if definition.feature_set == F::V8 => facts.one_source(),
        C::DP_2SRC if matches!(definition.feature_set, F::V8 | F::CRC) => facts.data_processing(),
        C::DP_3SRC => facts.three_sources(),
        C::BRANCH_IMM | C::BRANCH_REG | C::CONDBRANCH | C::COMPBRANCH | C::TESTBRANCH => {
            facts.branch(definition)
        }
        C::EXCEPTION => facts.exception(),
        C::IC_SYSTEM => facts.system(name),
        _ => {
            if !access::read(&mut facts, definition) {
                operands::read(&mut facts, definition);
            }
        }
    }
    Some(facts.insn)
}

/// Where control goes from the first instruction of `code`, which is at `svma`; `None` if it is not one.
pub fn step(code: &[u8], svma: Svma) -> Option<Step> {
    let word = u32::from_le_bytes(*code.first_chunk::<4>()?);
    let (control, is_hint) = match settled(word) {
        Some((_, control)) => (control, false),
        None => summarize(word).map(|summary| (summary.control, summary.class == Class::Hint))?,
    };
    Some(Step { length: 4, flow: flow_of(control, word, svma), is_hint })
}

const BLANK: Insn = Insn {
    svma: Svma(0),
    length: 4,
    class: Class::Other,
    operation: Operation::Other,
    flow: Flow::Next,
    dst: None,
    src: [None; 3],
    modified: false,
    modifier: Some(Modifier::NONE),
    is_signed: false,
    nzcv: 0,
    lanes: None,
    high_byte: false,
    condition: None,
    imm: None,
    width: 0,
    reads: RegSet::EMPTY,
    writes: RegSet::EMPTY,
    memory: None,
    ordering: Ordering { acquire: false, release: false },
    features: FeatureGroup(0),
};

fn flow_of(control: Control, word: u32, svma: Svma) -> Flow {
    let target = svma.offset(displacement(word, control));
    match control {
        Control::Next => Flow::Next,
        Control::Jump26 => Flow::Jump(target),
        Control::Call26 => Flow::Call(target),
        Control::Branch19 | Control::Branch14 | Control::Branch9 => Flow::Branch(target),
        Control::IndirectJump => Flow::IndirectJump,
        Control::IndirectCall => Flow::IndirectCall,
        Control::Return => Flow::Return,
        Control::Stop => Flow::Stop,
    }
}

const LINK: Reg = Reg::general(30);

impl Facts {
    fn width_by_sf(&mut self) {
        self.insn.width = if self.word >> 31 == 1 { 8 } else { 4 };
    }

    /// Rd, where register 31 of a form that sets flags is the zero register and of one that does not the stack pointer.
    fn sum_destination(&mut self, subtracts: bool, sets_flags: bool, stack: bool) {
        let compares = sets_flags && self.rd() == 31;
        self.insn.operation = match (subtracts, compares) {
            (true, true) => Operation::Compare,
            (false, true) => Operation::CompareNegative,
            (true, false) => Operation::Sub,
            (false, false) => Operation::Add,
        };
        self.destination(if stack && !sets_flags { stack_form(self.rd()) } else { zero_form(self.rd()) });
        if sets_flags {
            self.write(Some(Reg::FLAGS));
        }
        self.width_by_sf();
    }

    fn add_immediate(&mut self) {
        let (subtracts, sets_flags) = (self.field(30, 30) == 1, self.field(29, 29) == 1);
        let imm = self.field(21, 10) << (12 * self.field(22, 22));
        self.sum_destination(subtracts, sets_flags, true);
        self.sources([stack_form(self.rn()), None, None]);
        // MOV (to/from SP).
        if self.word & 0x7fff_fc00 == 0x1100_0000 && (self.rd() == 31 || self.rn() == 31) {
            self.insn.operation = Operation::Move;
        } else {
            self.insn.imm = Some(i64::from(imm));
        }
    }

    fn add_shifted(&mut self) {
        self.sum_destination(self.field(30, 30) == 1, self.field(29, 29) == 1, false);
        self.sources([zero_form(self.rn()), zero_form(self.rm()), None]);
        self.shifted();
    }

    /// The shift of the last source: LSL, LSR, ASR or ROR.
    fn shifted(&mut self) {
        let shift = self.field(15, 10) as u8;
        self.insn.modified = shift != 0;
        let is_left = self.field(23, 22) == 0;
        self.insn.modifier = (is_left || shift == 0).then_some(Modifier { shift, ..Modifier::NONE });
    }

    fn add_extended(&mut self) {
        self.sum_destination(self.field(30, 30) == 1, self.field(29, 29) == 1, true);
        self.sources([stack_form(self.rn()), zero_form(self.rm()), None]);
        let (from, amount) = (self.field(14, 13), self.field(12, 10));
        let whole = if self.word >> 31 == 1 { from == 3 } else { from >= 2 };
        self.insn.modified = amount != 0 || !whole;
        self.insn.modifier = Some(extension(self.field(15, 13), amount as u8));
    }

    fn carry(&mut self) {
        self.two_sources();
        self.read(Some(Reg::FLAGS));
        if self.field(29, 29) == 1 {
            self.write(Some(Reg::FLAGS));
        }
    }

    fn logical_immediate(&mut self) {
        self.width_by_sf();
        let sets_flags = self.field(30, 29) == 3;
        self.insn.operation = match self.field(30, 29) {
            1 if self.rn() == 31 => Operation::Move,
            1 => Operation::Or,
            2 => Operation::Xor,
            3 if self.rd() == 31 => Operation::Test,
            _ => Operation::And,
        };
        self.destination(if sets_flags { zero_form(self.rd()) } else { stack_form(self.rd()) });
        self.sources([zero_form(self.rn()), None, None]);
        self.insn.imm = Some(bitmask(self.word));
        if sets_flags {
            self.write(Some(Reg::FLAGS));
        }
    }

    fn logical_shifted(&mut self) {
        self.width_by_sf();
        let (opc, inverts) = (self.field(30, 29), self.field(21, 21) == 1);
        self.shifted();
        self.destination(zero_form(self.rd()));
        self.sources([zero_form(self.rn()), zero_form(self.rm()), None]);
        if opc == 3 {
            self.write(Some(Reg::FLAGS));
        }
        self.insn.operation = match (opc, inverts) {
            (0 | 3, true) => Operation::AndNot,
            (1, true) => Operation::OrNot,
            (2, true) => Operation::XorNot,
            (3, false) if self.rd() == 31 => Operation::Test,
            (1, false) if self.rn() == 31 && !self.insn.modified => Operation::Move,
            (1, false) => Operation::Or,
            (2, false) => Operation::Xor,
            _ => Operation::And,
        };
        if self.insn.operation == Operation::Move {
            self.insn.src = [zero_form(self.rm()), None, None];
        }
    }

    fn move_wide(&mut self) {
        self.width_by_sf();
        self.destination(zero_form(self.rd()));
        let value = u64::from(self.field(20, 5)) << (16 * self.field(22, 21));
        let value = match self.field(30, 29) {
            0 => !value,
            2 => value,
            _ => {
                self.insn.operation = Operation::MoveKeep;
                self.insn.imm = Some(i64::from(self.field(20, 5) | self.field(22, 21) << 20));
                return self.sources([zero_form(self.rd()), None, None]);
            }
        };
        self.insn.operation = Operation::Move;
        self.insn.imm = Some(self.truncated(value));
    }

    /// A value of the operation's width, zero-extended as the register is.
    fn truncated(&self, value: u64) -> i64 {
        if self.word >> 31 == 1 { value as i64 } else { i64::from(value as u32) }
    }

    fn bitfield(&mut self) {
        self.width_by_sf();
        self.destination(zero_form(self.rd()));
        let keeps_rest = self.field(30, 29) == 1;
        self.sources([zero_form(self.rn()), if keeps_rest { zero_form(self.rd()) } else { None }, None]);
        let whole = if self.word >> 31 == 1 { 63 } else { 31 };
        let (rotation, last) = (self.field(21, 16), self.field(15, 10));
        let zeroes_rest = self.field(30, 29) == 2;
        let (operation, imm) = if !keeps_rest && rotation == 0 && matches!(last, 7 | 15 | 31) && last != whole
        {
            self.insn.is_signed = !zeroes_rest;
            (Operation::Extend, Some((last + 1) / 8))
        } else if !zeroes_rest && !keeps_rest && last == whole {
            (Operation::ShiftRightSigned, Some(rotation))
        } else if !zeroes_rest {
            return;
        } else if last == whole {
            (Operation::ShiftRight, Some(rotation))
        } else if last + 1 == rotation {
            (Operation::ShiftLeft, Some(whole - last))
        } else if last >= rotation {
            (Operation::ExtractBits, Some(rotation | (last - rotation + 1) << 8))
        } else {
            return;
        };
        self.insn.operation = operation;
        self.insn.imm = imm.map(i64::from);
    }

    fn one_source(&mut self) {
        self.width_by_sf();
        self.destination(zero_form(self.rd()));
        self.sources([zero_form(self.rn()), None, None]);
    }

    fn two_sources(&mut self) {
        self.width_by_sf();
        self.destination(zero_form(self.rd()));
        self.sources([zero_form(self.rn()), zero_form(self.rm()), None]);
    }

    fn data_processing(&mut self) {
        self.two_sources();
        self.insn.operation = match self.word & 0x7fe0_fc00 {
            0x1ac0_2000 => Operation::ShiftLeft,  // lslv w0, w0, w0
            0x1ac0_2400 => Operation::ShiftRight, // lsrv w0, w0, w0
            _ => Operation::Other,
        };
    }

    fn three_sources(&mut self) {
        self.width_by_sf();
        self.destination(zero_form(self.rd()));
        self.sources([zero_form(self.rn()), zero_form(self.rm()), zero_form(self.field(14, 10))]);
    }

    fn address(&mut self) {
        self.insn.operation = Operation::Address;
        self.insn.width = 8;
        self.destination(zero_form(self.rd()));
        let svma = self.insn.svma;
        let address = if self.word >> 31 == 1 {
            Svma(svma.0 & !0xfff).offset(adrp_displacement(self.word))
        } else {
            svma.offset(adr_displacement(self.word))
        };
        self.insn.imm = Some(address.0 as i64);
    }

    fn select(&mut self) {
        self.two_sources();
        self.read(Some(Reg::FLAGS));
        let code = self.field(15, 12);
        let of_zeros = self.rn() == 31 && self.rm() == 31;
        // The last bit of a condition inverts it, except "always", which has two codes.
        let inverted = condition(code ^ 1);
        (self.insn.operation, self.insn.condition) = match (self.field(30, 30), self.field(11, 10)) {
            (0, 0) => (Operation::Select, condition(code)),
            (0, 1) if of_zeros && inverted.is_some() => (Operation::SetCondition, inverted),
            (1, 0) if of_zeros && inverted.is_some() => (Operation::SetMask, inverted),
            _ => (Operation::Select, None),
        };
    }

    fn conditional_compare(&mut self) {
        self.width_by_sf();
        self.insn.operation = match self.field(30, 30) {
            1 => Operation::ConditionalCompare,
            _ => Operation::ConditionalCompareNegative,
        };
        self.insn.nzcv = self.field(3, 0) as u8;
        self.insn.condition = condition(self.field(15, 12));
        if self.field(11, 11) == 1 {
            self.sources([zero_form(self.rn()), None, None]);
            self.insn.imm = Some(i64::from(self.rm()));
        } else {
            self.sources([zero_form(self.rn()), zero_form(self.rm()), None]);
        }
        self.read(Some(Reg::FLAGS));
        self.write(Some(Reg::FLAGS));
    }

    fn branch(&mut self, definition: &disarm64_defn::defn::Insn) {
        match definition.class {
            C::CONDBRANCH => {
                self.insn.operation = Operation::BranchCondition;
                self.insn.condition = condition(self.field(3, 0));
                self.read(Some(Reg::FLAGS));
            }
            C::TESTBRANCH => {
                self.insn.operation = Operation::BranchBit;
                self.insn.condition = Some(self.zero_condition());
                self.sources([zero_form(self.rd()), None, None]);
                self.insn.imm = Some(i64::from(self.word >> 31 << 5 | self.field(23, 19)));
                self.width_by_sf();
            }
            C::COMPBRANCH if definition.feature_set == F::V8 => {
                self.insn.operation = Operation::BranchZero;
                self.insn.condition = Some(self.zero_condition());
                self.sources([zero_form(self.rd()), None, None]);
                self.width_by_sf();
            }
            C::COMPBRANCH => operands::read_only(self, definition),
            C::BRANCH_REG => {
                // `retaa` and `eretaa` authenticate with SP, `braa` and `blraa` with Rd, `braaz` and `blraaz` with
                // zero.
                let authenticates = definition.feature_set == F::PAUTH;
                let by_zero = self.field(24, 24) == 0 && self.field(22, 22) == 0;
                if self.field(24, 23) != 1 {
                    self.read(zero_form(self.rn()));
                }
                if authenticates && self.insn.flow == Flow::Return {
                    self.read(Some(LINK));
                }
                if authenticates && !by_zero {
                    self.read(stack_form(self.rd()));
                }
            }
            _ => {}
        }
        if matches!(self.insn.flow, Flow::Call(_) | Flow::IndirectCall) {
            self.write(Some(LINK));
        }
    }

    /// The condition of `cbz` and `tbz`, or of `cbnz` and `tbnz`.
    fn zero_condition(&self) -> Condition {
        if self.field(24, 24) == 1 { Condition::NotEqual } else { Condition::Equal }
    }

    fn exception(&mut self) {
        self.insn.imm = Some(i64::from(if self.word >> 16 == 0 { self.word } else { self.field(20, 5) }));
        if self.insn.class != Class::Trap {
            self.read(Some(Reg::OTHER));
            self.write(Some(Reg::OTHER));
        }
        // svc, hvc, smc
        if self.word >> 24 == 0xd4 && self.field(23, 21) == 0 {
            self.service();
        }
    }

    /// What a system call, or a call of the hypervisor or the firmware, may read and change. Linux has its number in
    /// x8, arguments in x0 to x5 and a result in x0. Darwin has a number in x16, results in x0 and x1, and an error in
    /// the carry flag. The SMC Calling Convention has arguments and results in x0 to x17. None of it is surely
    /// overwritten, since most of it mostly stays.
    fn service(&mut self) {
        let general = (0..=17).map(Reg::general).fold(RegSet::EMPTY, RegSet::with);
        let all = general.with(Reg::FLAGS).union(registers_of_sve());
        self.insn.reads = self.insn.reads.union(all);
        self.insn.writes = self.insn.writes.union(all);
    }

    fn hint(&mut self) {
        let number = self.field(11, 5);
        let (reg, modifier) = match number {
            7 | 24 | 26 | 28 | 30 => (LINK, None),      // xpaclri, paciaz, …
            25 | 27 | 29 | 31 => (LINK, Some(Reg::SP)), // paciasp, autiasp, …
            8 | 10 | 12 | 14 => (Reg::general(17), Some(Reg::general(16))), // pacia1716, …
            40 => (Reg::general(16), None),             // chkfeat
            _ => return,
        };
        self.read(Some(reg));
        self.read(modifier);
        self.write(Some(reg));
    }

    fn system(&mut self, name: &str) {
        let rt = zero_form(self.rd());
        match name {
            "dmb" | "dsb" | "isb" | "clrex" => self.insn.imm = Some(i64::from(self.field(11, 8))),
            "mrs" | "sysl" => {
                let register = self.system_register();
                self.destination(rt);
                self.read(Some(register));
                // An operation without effect leaves the register.
                if name == "sysl" {
                    self.read(rt);
                }
                if name == "mrs" && is_random(self.word) {
                    self.write(Some(Reg::FLAGS));
                }
                if name == "mrs" && register != Reg::FLAGS {
                    self.insn.operation = Operation::ReadSystemRegister;
                    self.insn.imm = Some(i64::from(features::system_register(self.word)));
                }
            }
            "msr" if self.word & 0xfff8_f01f == 0xd500_401f => self.write(Some(Reg::OTHER)),
            "msr" | "sys" => {
                self.sources([rt, None, None]);
                self.write(Some(self.system_register()));
                // SVCR switches the streaming mode.
                if features::system_register(self.word) == 0xda12 {
                    operands::mode_change(self);
                }
            }
            "cfinv" => {
                self.read(Some(Reg::FLAGS));
                self.write(Some(Reg::FLAGS));
            }
            "setf8" | "setf16" | "rmif" => {
                self.sources([zero_form(self.rn()), None, None]);
                self.read(Some(Reg::FLAGS));
                self.write(Some(Reg::FLAGS));
            }
            "wfet" | "wfit" => self.sources([rt, None, None]),
            "mrrs" => {
                self.destination(rt);
                self.write(self.second());
                self.read(Some(Reg::OTHER));
            }
            "msrr" | "sysp" => {
                self.sources([rt, self.second(), None]);
                self.write(Some(Reg::OTHER));
            }
            _ => {}
        }
    }

    /// The register after Rt, in the pairs of FEAT_D128; none after the zero register.
    fn second(&self) -> Option<Reg> {
        zero_form(self.rd() | 1)
    }

    /// The system register of `mrs` and `msr`: NZCV (S3_3_C4_C2_0) is the flags.
    fn system_register(&self) -> Reg {
        if features::system_register(self.word) == 0xda10 { Reg::FLAGS } else { Reg::OTHER }
    }
}

/// Whether an `mrs` reads RNDR or RNDRRS, which set NZCV by whether there was a random number.
fn is_random(word: u32) -> bool {
    matches!(features::system_register(word), 0xd920 | 0xd921) // S3_3_C2_C4_0 and _1
}

/// A condition by its code, DDI 0487 C1.2.4; `None` for "always".
fn condition(code: u32) -> Option<Condition> {
    Some(match code & 15 {
        0 => Condition::Equal,
        1 => Condition::NotEqual,
        2 => Condition::UnsignedGreaterEqual, // cs
        3 => Condition::UnsignedLess,         // cc
        4 => Condition::Negative,
        5 => Condition::NotNegative,
        6 | 7 => Condition::Other, // vs, vc
        8 => Condition::UnsignedGreater,
        9 => Condition::UnsignedLessEqual,
        10 => Condition::SignedGreaterEqual,
        11 => Condition::SignedLess,
        12 => Condition::SignedGreater,
        13 => Condition::SignedLessEqual,
        _ => return None,
    })
}

/// The immediate of a logical instruction: `DecodeBitMasks`.
fn bitmask(word: u32) -> i64 {
    let (n, immr, imms) = (bits(word, 22, 22), bits(word, 21, 16), bits(word, 15, 10));
    // The element size is the highest set bit of N:NOT(imms).
    let size = 1u32 << (31 - ((n << 6 | (!imms & 0x3f)) | 1).leading_zeros());
    let (ones, rotation) = ((imms & (size - 1)) + 1, immr & (size - 1));
    let element = u64::MAX >> (64 - ones.min(64));
    let all = u64::MAX >> (64 - size.min(64));
    let rotated =
        if rotation == 0 { element } else { (element >> rotation | element << (size - rotation)) & all };
    let mut value = 0u64;
    let mut at = 0;
    while at < 64 {
        value |= rotated << at;
        at += size;
    }
    if word >> 31 == 1 { value as i64 } else { i64::from(value as u32) }
}

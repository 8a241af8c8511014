//! What the sweep needs of one word: feature group, class, kind of transfer.
//!
//! In: a word. Out: a [`Summary`], or none where the word is no instruction. What depends on the decoder's definition
//! alone is worked out once per definition and remembered.

use super::features::{self, Group};
use super::fields::{bits, signed};
use super::reserved::{self, Rule};
use crate::insn::Class;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use disarm64::decoder;
use disarm64_defn::defn::{Insn as Definition, InsnOpcode};
use disarm64_defn::{InsnClass, InsnFeatureSet};

/// How an instruction transfers control; of direct transfers also the width of the displacement field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Control {
    Next,
    Jump26,
    Call26,
    Branch19,
    Branch14,
    /// FEAT_CMPBR.
    Branch9,
    IndirectJump,
    IndirectCall,
    Return,
    Stop,
}

/// The facts of one word that a sweep counts and marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) group: Group,
    pub(super) class: Class,
    pub(super) control: Control,
}

/// A word with the decoder's definition of it.
#[derive(Clone, Copy)]
pub(super) struct Decoded {
    pub(super) summary: Summary,
    pub(super) definition: &'static Definition,
}

/// The hint space: `hint #imm7`. Its instructions do nothing where they are not known.
pub(super) const fn is_hint(word: u32) -> bool {
    word & 0xffff_f01f == 0xd503_201f
}

/// `brk`, `hlt` and `udf`.
pub(super) const fn is_trap(word: u32) -> bool {
    word & 0xffe0_001f == 0xd420_0000 || word & 0xffe0_001f == 0xd440_0000 || word >> 16 == 0
}

/// The summary of a word; `None` where the word is unallocated or reserved.
#[inline(never)]
pub(super) fn summarize(word: u32) -> Option<Summary> {
    if is_hint(word) {
        return Some(of_hint(word));
    }
    look_up(word).map(|(summary, _)| summary)
}

/// The summary of a word and the decoder's definition.
pub(super) fn define(word: u32) -> Option<Decoded> {
    let (summary, definition) = look_up(word)?;
    let summary = if is_hint(word) { of_hint(word) } else { summary };
    Some(Decoded { summary, definition })
}

/// The classes of the hint space, DDI 0487 C4.1.94.
pub(super) fn of_hint(word: u32) -> Summary {
    let class = match bits(word, 11, 5) {
        1 => Class::SpinHint,      // yield
        2..=5 => Class::WaitEvent, // wfe, wfi, sev, sevl
        _ => Class::Hint,
    };
    Summary { group: Group::Base, class, control: Control::Next }
}

/// Definitions are numbered below this.
const DEFINITIONS: usize = 4096;

/// What [`of_definition`] found, by the definition's number; 0 where none has been queried yet. The order in which
/// threads fill it does not matter, since they all write the same.
static KNOWN: [AtomicU32; DEFINITIONS] = [const { AtomicU32::new(0) }; DEFINITIONS];

const FILLED: u32 = 1 << 31;
const BY_WORD: u32 = 1 << 30;
/// Where the number of the [`reserved::Rule`] is.
const RULE: u32 = 20;

fn look_up(word: u32) -> Option<(Summary, &'static Definition)> {
    let opcode = decoder::decode(word)?;
    let definition = opcode.definition();
    let slot = KNOWN.get(opcode.id() as usize);
    let mut packed = slot.map_or(0, |slot| slot.load(Relaxed));
    if packed & FILLED == 0 {
        packed = of_definition(definition);
        if let Some(slot) = slot {
            slot.store(packed, Relaxed);
        }
    }
    if Rule::numbered((packed >> RULE & 0x7f) as u8).reserves(word) {
        return None;
    }
    let mut summary = unpack(packed);
    if packed & BY_WORD != 0 {
        summary.group = features::of_word(word, summary.group);
        if definition.mnemonic == "mrs" && features::is_identification(word) {
            summary.class = Class::FeatureQuery;
        }
    }
    Some((summary, definition))
}

fn of_definition(definition: &Definition) -> u32 {
    let group = features::of_definition(definition) as u32;
    let class = class_of(definition) as u32;
    let control = control_of(definition) as u32;
    let by_word = if features::depends_on_word(definition) { BY_WORD } else { 0 };
    let rule = u32::from(reserved::rule_of(definition).number());
    FILLED | by_word | rule << RULE | group | class << 12 | control << 8
}

fn unpack(packed: u32) -> Summary {
    const CLASSES: [Class; 16] = [
        Class::Other,
        Class::Load,
        Class::Store,
        Class::LoadExclusive,
        Class::StoreExclusive,
        Class::ClearExclusive,
        Class::LseAtomic,
        Class::LockedAtomic,
        Class::Barrier,
        Class::InstructionBarrier,
        Class::SpinHint,
        Class::WaitEvent,
        Class::FeatureQuery,
        Class::Hint,
        Class::SystemCall,
        Class::Trap,
    ];
    const CONTROLS: [Control; 10] = [
        Control::Next,
        Control::Jump26,
        Control::Call26,
        Control::Branch19,
        Control::Branch14,
        Control::Branch9,
        Control::IndirectJump,
        Control::IndirectCall,
        Control::Return,
        Control::Stop,
    ];
    Summary {
        group: Group::numbered((packed & 0xff) as u16),
        class: CLASSES.get((packed >> 12 & 0xf) as usize).copied().unwrap_or(Class::Other),
        control: CONTROLS.get((packed >> 8 & 0xf) as usize).copied().unwrap_or(Control::Next),
    }
}

/// The class of all instructions of a definition; hints and queries are distinguished by word.
fn class_of(definition: &Definition) -> Class {
    let name = definition.mnemonic;
    match (definition.class, definition.feature_set) {
        (InsnClass::IC_SYSTEM, _) => match name {
            "clrex" => Class::ClearExclusive,
            "dmb" | "dsb" => Class::Barrier,
            "isb" => Class::InstructionBarrier,
            "wfet" | "wfit" => Class::WaitEvent,
            "hint" | "chkfeat" => Class::Hint,
            _ => Class::Other,
        },
        (InsnClass::EXCEPTION, _) => match name {
            "svc" => Class::SystemCall,
            "brk" | "hlt" | "udf" => Class::Trap,
            _ => Class::Other,
        },
        (_, InsnFeatureSet::LSE | InsnFeatureSet::LSE128) => Class::LseAtomic,
        (InsnClass::LSE_ATOMIC, InsnFeatureSet::LSFE | InsnFeatureSet::LSUI) => Class::Other,
        (InsnClass::LDSTEXCL, InsnFeatureSet::V8 | InsnFeatureSet::LSUI) => match name {
            _ if name.starts_with("ldar") => Class::Load,
            _ if name.starts_with("stlr") => Class::Store,
            _ if name.starts_with("ld") => Class::LoadExclusive,
            _ => Class::StoreExclusive,
        },
        // `stmopa` is an outer product.
        (InsnClass::SME_MISC, InsnFeatureSet::SME_TMOP) => Class::Other,
        _ if name.starts_with("ld") => Class::Load,
        _ if name.starts_with("st") => Class::Store,
        _ => Class::Other,
    }
}

fn control_of(definition: &Definition) -> Control {
    let name = definition.mnemonic;
    match definition.class {
        InsnClass::BRANCH_IMM if name == "bl" => Control::Call26,
        InsnClass::BRANCH_IMM => Control::Jump26,
        InsnClass::CONDBRANCH => Control::Branch19,
        InsnClass::COMPBRANCH if definition.feature_set == InsnFeatureSet::CMPBR => Control::Branch9,
        InsnClass::COMPBRANCH => Control::Branch19,
        InsnClass::TESTBRANCH => Control::Branch14,
        InsnClass::BRANCH_REG if name.starts_with("blr") => Control::IndirectCall,
        InsnClass::BRANCH_REG if name.starts_with("ret") => Control::Return,
        // `eret` and `drps` go to an address in a system register.
        InsnClass::BRANCH_REG => Control::IndirectJump,
        InsnClass::EXCEPTION if matches!(name, "brk" | "hlt" | "udf") => Control::Stop,
        _ => Control::Next,
    }
}

/// The displacement of a direct branch in bytes, by the width and place of its field: [`Branch26`] and so on.
///
/// [`Branch26`]: Control::Branch26
#[inline]
pub(super) const fn displacement(word: u32, control: Control) -> i64 {
    use Control as C;
    4 * match control {
        C::Jump26 | C::Call26 => signed(word, 25, 0),
        C::Branch19 => signed(word, 23, 5),
        C::Branch14 => signed(word, 18, 5),
        C::Branch9 => signed(word, 13, 5),
        _ => 0,
    }
}

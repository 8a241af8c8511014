//! Loads, stores, exclusives and atomics: the memory operand, its registers and its ordering.
//!
//! In: a word whose definition is a memory access of the base set, of FEAT_LSE, FEAT_LSE128, FEAT_LRCPC and
//! FEAT_LRCPC2, or a structure access of Advanced SIMD. Out: the facts (DDI 0487 C4.1, Loads and Stores).

use super::builder::{Facts, extension, stack_form, zero_form};
use crate::insn::aarch64::fields::signed;
use crate::insn::aarch64::summary::Control;
use crate::insn::aarch64::summary::displacement;
use crate::insn::{Class, Memory, Modifier, Operation, Ordering, Reg};
use disarm64_defn::defn::Insn as Definition;
use disarm64_defn::{InsnClass as C, InsnFeatureSet as F};

/// Reads the facts of an access; false if the definition is none of those above.
pub(super) fn read(facts: &mut Facts, definition: &Definition) -> bool {
    match (definition.class, definition.feature_set) {
        (C::LDST_POS, F::V8) => {
            let scale = single_size(facts).map_or(0, |size| size.trailing_zeros());
            single(facts, Mode::Offset(i64::from(facts.field(21, 10)) << scale));
        }
        (C::LDST_IMM9 | C::LDST_UNSCALED | C::LDST_UNPRIV, F::V8) => {
            let imm9 = signed(facts.word, 20, 12);
            single(
                facts,
                match facts.field(11, 10) {
                    1 => Mode::Post,
                    3 => Mode::Pre(imm9),
                    _ => Mode::Offset(imm9),
                },
            );
        }
        (C::LDST_REGOFF, F::V8) => single(facts, Mode::Register),
        (C::LDST_UNSCALED, F::RCPC2) => {
            let loads = facts.field(23, 22) != 0;
            single(facts, Mode::Offset(signed(facts.word, 20, 12)));
            facts.insn.ordering = Ordering { acquire: loads, release: !loads };
        }
        (C::LOADLIT, _) => literal(facts),
        (C::LDSTPAIR_OFF | C::LDSTPAIR_INDEXED | C::LDSTNAPAIR_OFFS, F::V8) => pair(facts),
        (C::LDSTEXCL, F::V8 | F::LOR) => exclusive(facts),
        (_, F::RCPC) => {
            based(facts, 1 << (facts.word >> 30), true, false);
            load_general(facts, if facts.word >> 30 == 3 { 8 } else { 4 });
            facts.insn.ordering.acquire = true;
        }
        (_, F::LSE) if matches!(definition.mnemonic.as_bytes(), [b'c', b'a', b's', ..]) => {
            compare_swap(facts)
        }
        (_, F::LSE) => atomic(facts),
        (_, F::LSE128) => atomic_pair(facts),
        (C::ASISDLSE | C::ASISDLSEP | C::ASISDLSO | C::ASISDLSOP, _) => structure(facts),
        _ => return false,
    }
    true
}

enum Mode {
    Offset(i64),
    Pre(i64),
    Post,
    Register,
}

/// Bytes of a single-register access: of general registers by `size`, of SIMD&FP ones also by `opc`.
fn single_size(facts: &Facts) -> Option<u16> {
    let (size, vector, opc) = (facts.word >> 30, facts.field(26, 26) == 1, facts.field(23, 22));
    match (size, vector, opc) {
        (3, false, 2) => Some(8), // prfm, whose offset is scaled by 8
        (_, true, 2 | 3) => Some(16),
        _ => Some(1 << size),
    }
}

fn single(facts: &mut Facts, mode: Mode) {
    let (size, vector, opc) = (facts.word >> 30, facts.field(26, 26) == 1, facts.field(23, 22));
    let bytes = single_size(facts).unwrap_or(0);
    let prefetches = !vector && size == 3 && opc == 2;
    let stores = if vector { opc & 1 == 0 } else { opc == 0 };
    let (displacement, index, write_back) = match mode {
        Mode::Offset(displacement) => (displacement, None, false),
        Mode::Pre(displacement) => (displacement, None, true),
        Mode::Post => (0, None, true),
        Mode::Register => (0, zero_form(facts.rm()), false),
    };
    // The offset is shifted by the size of the access, or not at all.
    let shift = if facts.field(12, 12) == 1 { bytes.trailing_zeros() as u8 } else { 0 };
    let index_as = if index.is_some() { extension(facts.field(15, 13), shift) } else { Modifier::NONE };
    facts.memory(Memory {
        base: stack_form(facts.rn()),
        index,
        index_as,
        displacement,
        size: if prefetches { 0 } else { bytes },
        read: !stores && !prefetches,
        write: stores,
        write_back,
        is_static: false,
    });
    let width = if vector {
        0
    } else if size == 3 || opc == 2 {
        8
    } else {
        4
    };
    if prefetches {
        facts.insn.operation = Operation::Prefetch;
    } else {
        let target = facts.rd();
        let reg = if vector { Some(Reg::vector(target as u8)) } else { zero_form(target) };
        transfer(facts, stores, reg, width);
        facts.insn.is_signed = !vector && opc >= 2;
    }
}

fn transfer(facts: &mut Facts, stores: bool, reg: Option<Reg>, width: u8) {
    facts.insn.width = width;
    if stores {
        facts.sources([reg, None, None]);
    } else {
        facts.destination(reg);
    }
}

fn load_general(facts: &mut Facts, width: u8) {
    facts.insn.width = width;
    facts.destination(zero_form(facts.rd()));
}

/// A memory operand that is `[base]` alone.
fn based(facts: &mut Facts, size: u16, read: bool, write: bool) {
    facts.memory(Memory {
        base: stack_form(facts.rn()),
        index: None,
        index_as: Modifier::NONE,
        displacement: 0,
        size,
        read,
        write,
        write_back: false,
        is_static: false,
    });
}

fn literal(facts: &mut Facts) {
    let (opc, vector) = (facts.word >> 30, facts.field(26, 26) == 1);
    let prefetches = !vector && opc == 3;
    let size = match (opc, vector) {
        _ if prefetches => 0,
        (0, _) | (2, false) => 4,
        (1, _) => 8,
        _ => 16,
    };
    let address = facts.insn.svma.offset(displacement(facts.word, Control::Branch19));
    facts.memory(Memory {
        base: None,
        index: None,
        index_as: Modifier::NONE,
        displacement: address.0 as i64,
        size,
        read: !prefetches,
        write: false,
        write_back: false,
        is_static: true,
    });
    let target = facts.rd();
    match (prefetches, vector) {
        (true, _) => facts.insn.operation = Operation::Prefetch,
        (false, true) => transfer(facts, false, Some(Reg::vector(target as u8)), 0),
        (false, false) => {
            load_general(facts, if opc == 0 { 4 } else { 8 });
            facts.insn.is_signed = opc == 2;
        }
    }
}

fn pair(facts: &mut Facts) {
    let (opc, vector, loads) = (facts.word >> 30, facts.field(26, 26) == 1, facts.field(22, 22) == 1);
    let each: u16 = match (opc, vector) {
        (_, true) => 4 << opc,
        (2, false) => 8,
        _ => 4,
    };
    let offset = signed(facts.word, 21, 15) * i64::from(each);
    let mode = facts.field(24, 23);
    facts.memory(Memory {
        base: stack_form(facts.rn()),
        index: None,
        index_as: Modifier::NONE,
        displacement: if mode == 1 { 0 } else { offset },
        size: 2 * each,
        read: loads,
        write: !loads,
        write_back: mode == 1 || mode == 3,
        is_static: false,
    });
    let (first, second) = (facts.rd(), facts.field(14, 10));
    let [first, second] = [first, second]
        .map(|number| if vector { Some(Reg::vector(number as u8)) } else { zero_form(number) });
    facts.insn.width = if vector {
        0
    } else if opc == 0 {
        4
    } else {
        8
    };
    if loads {
        facts.destination(first);
        facts.write(second);
    } else {
        facts.sources([first, second, None]);
    }
}

/// Load-exclusive, store-exclusive, load-acquire, store-release, and the LORegion forms.
fn exclusive(facts: &mut Facts) {
    let (loads, pairs) = (facts.field(22, 22) == 1, facts.field(23, 23) == 0 && facts.field(21, 21) == 1);
    let each: u16 = 1 << (facts.word >> 30);
    let ordered = facts.field(15, 15) == 1 || facts.field(23, 23) == 1;
    based(facts, if pairs { 2 * each } else { each }, loads, !loads);
    facts.insn.width = if each == 8 { 8 } else { 4 };
    facts.insn.ordering = Ordering { acquire: ordered && loads, release: ordered && !loads };
    let (first, second) = (zero_form(facts.rd()), if pairs { zero_form(facts.field(14, 10)) } else { None });
    if loads {
        facts.destination(first);
        facts.write(second);
    } else {
        facts.sources([first, second, None]);
        if facts.insn.class == Class::StoreExclusive {
            facts.destination(zero_form(facts.rm()));
        }
    }
}

/// CAS and CASP: the expected value comes and the old value goes in Rs.
fn compare_swap(facts: &mut Facts) {
    let pairs = facts.field(23, 23) == 0;
    let each: u16 = if pairs { 4 << facts.field(30, 30) } else { 1 << (facts.word >> 30) };
    based(facts, if pairs { 2 * each } else { each }, true, true);
    facts.insn.operation = Operation::CompareSwap;
    facts.insn.width = if each == 8 { 8 } else { 4 };
    facts.insn.ordering = Ordering { acquire: facts.field(22, 22) == 1, release: facts.field(15, 15) == 1 };
    let (expected, new) = (facts.rm(), facts.rd());
    facts.sources([zero_form(expected), zero_form(new), None]);
    facts.destination(zero_form(expected));
    if pairs {
        facts.read(zero_form(expected | 1));
        facts.read(zero_form(new | 1));
        facts.write(zero_form(expected | 1));
    }
}

/// SWP and LD‹op›; with the zero register as Rt and no acquire ST‹op›.
fn atomic(facts: &mut Facts) {
    let each: u16 = 1 << (facts.word >> 30);
    based(facts, each, true, true);
    facts.insn.operation = match (facts.field(15, 15), facts.field(14, 12)) {
        (1, _) => Operation::Swap,
        (_, 0) => Operation::FetchAdd,
        (_, 1) => Operation::FetchAndNot,
        (_, 2) => Operation::FetchXor,
        (_, 3) => Operation::FetchOr,
        _ => Operation::FetchMinMax,
    };
    facts.insn.width = if each == 8 { 8 } else { 4 };
    facts.sources([zero_form(facts.rm()), None, None]);
    facts.destination(zero_form(facts.rd()));
    facts.insn.ordering = Ordering { acquire: facts.field(23, 23) == 1, release: facts.field(22, 22) == 1 };
}

/// SWPP, LDCLRP, LDSETP: both registers come and go.
fn atomic_pair(facts: &mut Facts) {
    based(facts, 16, true, true);
    facts.insn.operation = match facts.field(14, 12) {
        0 => Operation::Swap,
        1 => Operation::FetchAndNot,
        _ => Operation::FetchOr,
    };
    facts.insn.width = 8;
    let (first, second) = (zero_form(facts.rd()), zero_form(facts.rm()));
    facts.sources([first, second, None]);
    facts.destination(first);
    facts.write(second);
    facts.insn.ordering = Ordering { acquire: facts.field(23, 23) == 1, release: facts.field(22, 22) == 1 };
}

/// LD1-LD4, ST1-ST4 and the replicating loads.
fn structure(facts: &mut Facts) {
    let (loads, single, post) =
        (facts.field(22, 22) == 1, facts.field(24, 24) == 1, facts.field(23, 23) == 1);
    let whole: u16 = if facts.field(30, 30) == 1 { 16 } else { 8 };
    let (registers, bytes, keeps_rest) = if single {
        let count = (facts.field(13, 13) << 1 | facts.field(21, 21)) as u16 + 1;
        let (scale, size) = (facts.field(15, 14), facts.field(11, 10));
        let element: u16 = match scale {
            3 => 1 << size,
            2 if size & 1 == 1 => 8,
            scale => 1 << scale,
        };
        (count, count * element, scale != 3)
    } else {
        let count = match facts.field(15, 12) {
            0 | 2 => 4,
            4 | 6 => 3,
            7 => 1,
            _ => 2,
        };
        (count, count * whole, false)
    };
    facts.memory(Memory {
        base: stack_form(facts.rn()),
        index: None,
        index_as: Modifier::NONE,
        displacement: 0,
        size: bytes,
        read: loads,
        write: !loads,
        write_back: post,
        is_static: false,
    });
    if post {
        facts.read(zero_form(facts.rm()));
    }
    let first = facts.rd();
    for i in 0..u32::from(registers) {
        let reg = Some(Reg::vector((first + i) as u8));
        if loads {
            facts.write(reg);
        }
        if !loads || keeps_rest {
            facts.read(reg);
        }
    }
    let reg = Some(Reg::vector(first as u8));
    if loads {
        facts.insn.dst = reg;
    } else {
        facts.insn.src = [reg, None, None];
    }
}

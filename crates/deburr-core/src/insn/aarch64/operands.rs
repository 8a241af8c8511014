//! Registers by the decoder's operand definitions, for everything that [`super::facts`] does not read by field.
//!
//! In: a word and its definition. Out: registers read and written. The first operand counts as written and as read,
//! because many vector instructions keep part of it; scalar floating point, which does not, is told apart.

use super::super::{Class, Memory, Modifier, Reg};
use super::bits;
use super::facts::{Facts, stack_form, zero_form};
use disarm64_defn::defn::{Insn as Definition, InsnOperand};
use disarm64_defn::{InsnClass as C, InsnOperandClass as Kind, InsnOperandKind as K};

/// Reads all operands of a definition.
pub(super) fn read(facts: &mut Facts, definition: &Definition) {
    let stores = facts.insn.class == Class::Store;
    let compares = matches!(definition.class, C::FLOATCMP | C::FLOATCCMP);
    let replaces = is_whole_result(definition);
    let mut sources = [None; 3];
    let mut count = 0;
    for (i, operand) in definition.operands.iter().enumerate() {
        let is_result = i == 0 && !stores && !compares;
        if operand.class == Kind::ADDRESS {
            memory(facts, definition);
            continue;
        }
        let registers = registers(facts.word, operand);
        let Some((first, more)) = registers else { continue };
        for step in 0..=more {
            let reg = first.map(|reg| reg.following(step));
            if is_result {
                facts.write(reg);
            }
            if !is_result || !replaces {
                facts.read(reg);
            }
        }
        if is_result {
            facts.insn.dst = first;
        } else if let Some(source) = sources.get_mut(count) {
            *source = first;
            count += 1;
        }
        // The result of an SVE comparison sets NZCV as well.
        if is_result && operand.class == Kind::PRED_REG {
            facts.write(Some(Reg::FLAGS));
        }
    }
    facts.insn.src = sources;
    flags(facts, definition);
    width(facts, definition);
}

/// Reads the operands of a definition that writes none of them.
pub(super) fn read_only(facts: &mut Facts, definition: &Definition) {
    let mut sources = [None; 3];
    let registers = definition.operands.iter().filter_map(|operand| registers(facts.word, operand));
    for (source, (first, _)) in sources.iter_mut().zip(registers) {
        *source = first;
    }
    facts.sources(sources);
    width(facts, definition);
}

/// Scalar results that replace the register.
fn is_whole_result(definition: &Definition) -> bool {
    matches!(
        definition.class,
        C::FLOATDP1
            | C::FLOATDP2
            | C::FLOATDP3
            | C::FLOATIMM
            | C::FLOATSEL
            | C::FLOAT2INT
            | C::FLOAT2FIX
            | C::FPRCVTFLOAT2INT
            | C::FPRCVTINT2FLOAT
            | C::CSSC
            | C::ASISDONE
    ) || definition.class == C::DP_2SRC
        || definition.mnemonic.starts_with("ld")
}

fn flags(facts: &mut Facts, definition: &Definition) {
    let name = definition.mnemonic;
    let (reads, writes) = match definition.class {
        C::FLOATCMP => (false, true),
        C::FLOATCCMP => (true, true),
        C::FLOATSEL => (true, false),
        _ if matches!(name, "axflag" | "xaflag") => (true, true),
        _ if name == "subps" || name.starts_with("cterm") || name == "ptest" => {
            (name.starts_with("cterm"), true)
        }
        // FEAT_MOPS passes its state between prologue, main and epilogue in the flags; FEAT_THE reports in them.
        _ if name.starts_with("cpy") || name.starts_with("set") || name.starts_with("rcw") => (true, true),
        _ => return,
    };
    if reads {
        facts.read(Some(Reg::FLAGS));
    }
    if writes {
        facts.write(Some(Reg::FLAGS));
    }
}

fn width(facts: &mut Facts, definition: &Definition) {
    if matches!(definition.class, C::CSSC | C::COMPBRANCH | C::DP_1SRC | C::DP_2SRC) {
        facts.insn.width = if facts.word >> 31 == 1 { 8 } else { 4 };
    }
}

/// A memory operand of which only the base register is known.
fn memory(facts: &mut Facts, definition: &Definition) {
    let loads = facts.insn.class == Class::Load || !definition.mnemonic.starts_with("st");
    facts.memory(Memory {
        base: stack_form(bits(facts.word, 9, 5)),
        index: None,
        index_as: Modifier::NONE,
        displacement: 0,
        size: 0,
        read: loads,
        write: facts.insn.class != Class::Load,
        write_back: matches!(definition.class, C::LDST_IMM9 | C::LDSTPAIR_INDEXED | C::LDST_IMM10 | C::RCPC3),
        is_static: false,
    });
}

/// The first register of an operand, and how many follow it; `None` for operands that are no register. The zero
/// register is `Some((None, 0))`.
fn registers(word: u32, operand: &InsnOperand) -> Option<(Option<Reg>, u8)> {
    let field =
        operand.bit_fields.iter().find(|field| field.width >= 3 || operand.class == Kind::PRED_REG)?;
    let width = u32::from(field.width).clamp(1, 5);
    let low = u32::from(field.lsb).min(27);
    let number = bits(word, low + width - 1, low);
    match operand.class {
        Kind::INT_REG | Kind::MODIFIED_REG => {
            let stack = matches!(operand.kind, K::Rd_SP | K::Rn_SP | K::Rm_SP | K::Rt_SP | K::SVE_Rn_SP);
            let pair = matches!(operand.kind, K::PAIRREG | K::PAIRREG_OR_XZR);
            let more = match operand.kind {
                K::Rt_LS64 => 7,
                _ if pair => 1,
                _ => 0,
            };
            Some((if stack { stack_form(number) } else { zero_form(number) }, more))
        }
        Kind::FP_REG | Kind::SIMD_REG | Kind::SISD_REG | Kind::SIMD_ELEMENT | Kind::SVE_REG => {
            Some((Some(Reg::vector(number as u8)), 0))
        }
        // How many registers a list has is not in the definition: four at most.
        Kind::SIMD_REGLIST | Kind::SVE_REGLIST => Some((Some(Reg::vector(number as u8)), 3)),
        Kind::PRED_REG => Some((Some(Reg::mask(number as u8)), 0)),
        Kind::ZA_ACCESS => Some((Some(Reg::OTHER), 0)),
        _ => None,
    }
}

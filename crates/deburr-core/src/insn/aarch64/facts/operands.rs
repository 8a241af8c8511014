//! Registers by the decoder's operand definitions, for everything that [`super::facts`] does not read by field.
//!
//! In: a word and its definition. Out: registers read and written. The first operand counts as written and as read,
//! because many vector instructions keep part of it, except where its instruction is known to replace it. What else an
//! instruction writes is in [`role`]. The second sources that this is checked against are in `tests/tests/real/check/operands.rs`.

use super::builder::{Facts, registers_of_sve, stack_form, zero_form};
use super::named::{Named, named};
use crate::insn::aarch64::fields::bits;
use crate::insn::{Class, Memory, Modifier, Reg};
use disarm64_defn::defn::{Insn as Definition, InsnOperand};
use disarm64_defn::{InsnClass as C, InsnFeatureSet as F, InsnOperandClass as Kind, InsnOperandKind as K};

/// What an instruction does with an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Source,
    /// All of the register is written.
    Result,
    /// It is read and written, or some of it may stay.
    Both,
}

/// Reads all operands of a definition.
pub(super) fn read(facts: &mut Facts, definition: &Definition) {
    let mut sources = [None; 3];
    let mut slots = sources.iter_mut();
    for (i, operand, named) in registers(facts.word, definition) {
        let role = role(facts.insn.class, definition, i);
        facts.insn.reads = facts.insn.reads.union(named.selectors);
        if role != Role::Result {
            facts.insn.reads = facts.insn.reads.union(named.all);
        }
        if role != Role::Source {
            facts.insn.writes = facts.insn.writes.union(named.all);
        }
        if matches!(operand.kind, K::PAIRREG | K::PAIRREG_OR_XZR) {
            continue;
        }
        if role != Role::Source && facts.insn.dst.is_none() {
            facts.insn.dst = named.first;
        } else if let Some(slot) = slots.next() {
            *slot = named.first;
        }
    }
    facts.insn.src = sources;
    for operand in definition.operands {
        match operand.kind {
            K::SVE_ADDR_ZZ_LSL | K::SVE_ADDR_ZZ_SXTW | K::SVE_ADDR_ZZ_UXTW => {
                facts.read(Some(vector_field(facts.word, 9, 5)));
                facts.read(Some(vector_field(facts.word, 20, 16)));
            }
            K::SME_SM_ZA => mode_change(facts),
            _ if operand.class == Kind::ADDRESS => memory(facts, definition, operand.kind),
            _ => {}
        }
    }
    flags(facts, definition);
    width(facts, definition);
}

/// Reads the operands of a definition that writes none of them.
pub(super) fn read_only(facts: &mut Facts, definition: &Definition) {
    let mut sources = [None; 3];
    for (source, (_, _, named)) in sources.iter_mut().zip(registers(facts.word, definition)) {
        *source = named.first;
    }
    facts.sources(sources);
    width(facts, definition);
}

/// The operands that name registers, with their places.
fn registers(word: u32, definition: &Definition) -> impl Iterator<Item = (usize, &InsnOperand, Named)> {
    let mut before = None;
    definition.operands.iter().enumerate().filter_map(move |(i, operand)| {
        let named = named(word, definition, operand, before)?;
        before = named.number;
        Some((i, operand, named))
    })
}

/// What an instruction does with the operand at a place.
fn role(class: Class, definition: &Definition, place: usize) -> Role {
    let name = definition.mnemonic;
    let kind = definition.operands.get(place).map(|operand| operand.kind);
    let is_pair = definition.operands.get(1).is_some_and(|operand| operand.kind == K::PAIRREG);
    match (definition.class, definition.feature_set) {
        (C::AARCH64_MISC, F::MOPS | F::MOPS_MEMTAG | F::MOPS_GO) => match kind {
            Some(K::MOPS_ADDR_Rd | K::MOPS_ADDR_Rs | K::MOPS_WB_Rn) => Role::Both,
            _ => Role::Source,
        },
        // The expected value comes and the old one goes in Rs; of pairs also in what follows it.
        (C::LSE_ATOMIC, F::LSUI) | (C::THE, _) if name.contains("cas") => {
            if place < if is_pair { 2 } else { 1 } { Role::Both } else { Role::Source }
        }
        // The second half comes and goes in Rs.
        (C::THE, F::D128_THE) => Role::Both,
        // The old value goes to the second register.
        (C::LSE_ATOMIC, F::LSUI | F::LSFE) | (C::THE, _) => {
            if place == 1 {
                Role::Result
            } else {
                Role::Source
            }
        }
        // `st64bv` and `st64bv0`: a status.
        (C::LSE_ATOMIC, F::LS64) if kind == Some(K::Rs) => Role::Result,
        (C::LDSTPAIR_OFF | C::LDSTPAIR_INDEXED | C::LDSTNAPAIR_OFFS | C::RCPC3, _)
            if class == Class::Load =>
        {
            if kind == Some(K::LEt) {
                Role::Both
            } else {
                Role::Result
            }
        }
        // Where the stack is not enabled, the register stays.
        (C::GCS, _) if matches!(name, "gcspopm" | "gcsss2") => Role::Both,
        (C::GCS, _) => Role::Source,
        (C::FLOATCMP | C::FLOATCCMP, _) => Role::Source,
        _ if place > 0 || class == Class::Store => Role::Source,
        _ if name.starts_with("cterm") || matches!(name, "ptest" | "wrffr") => Role::Source,
        _ if replaces(definition) => Role::Result,
        _ => Role::Both,
    }
}

/// Whether an instruction replaces its first operand: general registers that it does not count up or sign, scalar
/// results, and what is loaded.
fn replaces(definition: &Definition) -> bool {
    let name = definition.mnemonic;
    let first = definition.operands.first();
    if first.is_some_and(|operand| operand.class == Kind::INT_REG) {
        const KEEPING: [&str; 8] = ["inc", "dec", "sqinc", "sqdec", "uqinc", "uqdec", "clast", "tchange"];
        let signs = definition.class == C::DP_1SRC && definition.feature_set == F::PAUTH;
        return !signs && name != "ldg" && !KEEPING.iter().any(|start| name.starts_with(start));
    }
    matches!(
        definition.class,
        C::FLOATDP1
            | C::FLOATDP2
            | C::FLOATDP3
            | C::FLOATIMM
            | C::FLOATSEL
            | C::FPRCVTFLOAT2INT
            | C::FPRCVTINT2FLOAT
            | C::FLOAT2FIX
            | C::ASISDONE
    ) || definition.class == C::FLOAT2INT && first.is_none_or(|operand| operand.kind != K::VdD1)
        || name.starts_with("ld") && first.is_none_or(|operand| operand.class != Kind::ZA_ACCESS)
}

fn flags(facts: &mut Facts, definition: &Definition) {
    let name = definition.mnemonic;
    let (reads, writes) = match definition.class {
        C::FLOATCMP => (false, true),
        C::FLOATCCMP => (true, true),
        C::FLOATSEL => (true, false),
        // FEAT_MOPS passes its state between prologue, main and epilogue in the flags.
        C::AARCH64_MISC if matches!(definition.feature_set, F::MOPS | F::MOPS_MEMTAG | F::MOPS_GO) => {
            (true, true)
        }
        C::THE => (false, true),
        _ => match name {
            "axflag" | "xaflag" => (true, true),
            "subps" | "fjcvtzs" | "ptest" => (false, true),
            // C stays.
            "ctermeq" | "ctermne" => (true, true),
            _ => (false, sets_flags_by_predicate(definition)),
        },
    };
    if reads {
        facts.read(Some(Reg::FLAGS));
    }
    if writes {
        facts.write(Some(Reg::FLAGS));
    }
}

/// Whether NZCV describes the predicate that an SVE instruction makes: after comparisons of integers, `while`, and
/// what has an S in its name.
fn sets_flags_by_predicate(definition: &Definition) -> bool {
    let Some(first) = definition.operands.first() else { return false };
    let is_predicate = first.class == Kind::PRED_REG || matches!(first.kind, K::SME_Pdx2 | K::SME_PdxN);
    let name = definition.mnemonic;
    is_predicate
        && (["cmp", "while"].iter().any(|start| name.starts_with(start))
            || matches!(
                name,
                "match"
                    | "nmatch"
                    | "pfirst"
                    | "pnext"
                    | "ands"
                    | "bics"
                    | "eors"
                    | "nands"
                    | "nors"
                    | "orns"
                    | "orrs"
                    | "ptrues"
                    | "rdffrs"
                    | "brkas"
                    | "brkbs"
                    | "brkns"
                    | "brkpas"
                    | "brkpbs"
            ))
}

fn width(facts: &mut Facts, definition: &Definition) {
    if matches!(definition.class, C::CSSC | C::COMPBRANCH | C::DP_1SRC | C::DP_2SRC) {
        facts.insn.width = if facts.word >> 31 == 1 { 8 } else { 4 };
    }
}

/// `smstart`, `smstop` and a write of SVCR clear the vectors and predicates, if they change the mode.
pub(super) fn mode_change(facts: &mut Facts) {
    let all = registers_of_sve().with(Reg::OTHER);
    facts.insn.reads = facts.insn.reads.union(all);
    facts.insn.writes = facts.insn.writes.union(all);
}

fn vector_field(word: u32, high: u32, low: u32) -> Reg {
    Reg::vector(bits(word, high, low) as u8)
}

/// A memory operand of which only the registers are known.
fn memory(facts: &mut Facts, definition: &Definition, kind: K) {
    let word = facts.word;
    let loads = matches!(facts.insn.class, Class::Load | Class::LoadExclusive);
    let stores = matches!(facts.insn.class, Class::Store | Class::StoreExclusive);
    let (base, index, shift) = match kind {
        K::SVE_ADDR_ZI_U5 | K::SVE_ADDR_ZI_U5x2 | K::SVE_ADDR_ZI_U5x4 | K::SVE_ADDR_ZI_U5x8 => {
            (None, Some(vector_field(word, 9, 5)), 0)
        }
        K::SVE_ADDR_ZX => {
            facts.read(Some(vector_field(word, 9, 5)));
            (None, zero_form(facts.rm()), 0)
        }
        _ => {
            let (index, shift) = index(word, kind);
            (stack_form(facts.rn()), index, shift)
        }
    };
    let index_as = if index.is_some() { Modifier { shift, ..Modifier::NONE } } else { Modifier::NONE };
    facts.memory(Memory {
        base,
        index,
        index_as,
        displacement: 0,
        size: 0,
        read: !stores,
        write: !loads,
        write_back: writes_back(definition, kind, word),
        is_static: false,
    });
}

/// The index of an SVE or SME access, and its shift.
fn index(word: u32, kind: K) -> (Option<Reg>, u8) {
    let general = zero_form(bits(word, 20, 16));
    let vector = Some(vector_field(word, 20, 16));
    match kind {
        K::SVE_ADDR_RR | K::SVE_ADDR_RX | K::SVE_ADDR_RM => (general, 0),
        K::SVE_ADDR_RR_LSL1 | K::SVE_ADDR_RX_LSL1 | K::SVE_ADDR_RM_LSL1 => (general, 1),
        K::SVE_ADDR_RR_LSL2 | K::SVE_ADDR_RX_LSL2 | K::SVE_ADDR_RM_LSL2 => (general, 2),
        K::SVE_ADDR_RR_LSL3 | K::SVE_ADDR_RX_LSL3 | K::SVE_ADDR_RM_LSL3 => (general, 3),
        K::SVE_ADDR_RR_LSL4 | K::SVE_ADDR_RX_LSL4 => (general, 4),
        K::SVE_ADDR_RZ | K::SVE_ADDR_RZ_XTW_14 | K::SVE_ADDR_RZ_XTW_22 => (vector, 0),
        K::SVE_ADDR_RZ_LSL1 | K::SVE_ADDR_RZ_XTW1_14 | K::SVE_ADDR_RZ_XTW1_22 => (vector, 1),
        K::SVE_ADDR_RZ_LSL2 | K::SVE_ADDR_RZ_XTW2_14 | K::SVE_ADDR_RZ_XTW2_22 => (vector, 2),
        K::SVE_ADDR_RZ_LSL3 | K::SVE_ADDR_RZ_XTW3_14 | K::SVE_ADDR_RZ_XTW3_22 => (vector, 3),
        _ => (None, 0),
    }
}

/// Whether the base moves.
fn writes_back(definition: &Definition, kind: K, word: u32) -> bool {
    match kind {
        K::RCPC3_ADDR_POSTIND | K::RCPC3_ADDR_PREIND_WB => true,
        K::RCPC3_ADDR_OPT_POSTIND | K::RCPC3_ADDR_OPT_PREIND_WB => bits(word, 12, 12) == 0,
        // `ldraa` with and without.
        K::ADDR_SIMM10 => bits(word, 11, 11) == 1,
        _ => matches!(definition.class, C::LDST_IMM9 | C::LDSTPAIR_INDEXED),
    }
}

#[cfg(test)]
mod tests {
    use crate::Svma;
    use crate::insn::aarch64::decode;
    use crate::insn::{Reg, RegSet};

    /// The registers of a list such as `x1 z0 p2 nzcv`.
    fn set(names: &str) -> RegSet {
        let named = |name: &str| match name.split_at(1) {
            ("x", number) => Reg::general(number.parse().unwrap()),
            ("z", number) => Reg::vector(number.parse().unwrap()),
            ("p", number) => Reg::mask(number.parse().unwrap()),
            _ if name == "nzcv" => Reg::FLAGS,
            _ => Reg::SP,
        };
        names.split_whitespace().map(named).fold(RegSet::EMPTY, RegSet::with)
    }

    /// Asserts what words read and write, system registers and ZA aside.
    fn assert_registers(words: &[(u32, &str, &str)]) {
        for (word, writes, reads) in words {
            let insn = decode(&word.to_le_bytes(), Svma(0)).unwrap_or_else(|| panic!("{word:#010x} decodes"));
            assert_eq!(insn.writes.without(Reg::OTHER), set(writes), "what {word:#010x} writes");
            assert_eq!(insn.reads.without(Reg::OTHER), set(reads), "what {word:#010x} reads");
        }
    }

    #[test]
    fn every_register_of_an_sve_address_is_read() {
        assert_registers(&[
            (0xa5ed_4020, "z0", "x1 x13 p0"),    // ld1d {z0.d}, p0/z, [x1, x13, lsl #3]
            (0xe545_4883, "", "z3 x4 x5 p2"),    // st1w {z3.s}, p2, [x4, x5, lsl #2]
            (0x8507_a441, "z1", "z2 x7 p1"),     // ldnt1w {z1.s}, p1/z, [z2.s, x7]
            (0xc5c9_c020, "z0", "x1 z9 p0"),     // ld1d {z0.d}, p0/z, [x1, z9.d]
            (0x8522_c080, "z0", "z4 p0"),        // ld1w {z0.s}, p0/z, [z4.s, #8]
            (0xa540_e046, "z6 z7 z8", "x2 p0"),  // ld3w {z6.s - z8.s}, p0/z, [x2]
            (0x8404_c460, "", "x3 x4 p1"),       // prfb pldl1keep, p1, [x3, x4]
            (0xe006_28a2, "", "x5 x6 x13 p2"),   // ld1b {za0h.b[w13, 2]}, p2/z, [x5, x6]
            (0xc124_3840, "", "x9 z2 z3 z4 z5"), // fmla za.s[w9, 0, vgx2], {z2.s, z3.s}, z4.s
            (0x2526_4861, "p1", "p1 p2 p3 x14"), // psel p1, p2, p3.b[w14, 0]
        ]);
    }

    #[test]
    fn counters_and_last_elements_keep_what_they_count_from() {
        assert_registers(&[
            (0x252c_8829, "x9", "x9 p1"),    // incp x9, p1.b
            (0x2520_8449, "x9", "p1 p2"),    // cntp x9, p1, p2.b
            (0x05f0_a443, "x3", "x3 p1 z2"), // clasta x3, p1, x3, z2.d
            (0x05e0_a443, "x3", "p1 z2"),    // lasta x3, p1, z2.d
            (0x9eaf_0083, "z3", "z3 x4"),    // fmov v3.d[1], x4
        ]);
    }

    #[test]
    fn instructions_with_several_results_name_them_all() {
        assert_registers(&[
            (0x1d02_0461, "x1 x2 x3 nzcv", "x1 x2 x3 nzcv"), // cpyp [x1]!, [x2]!, x3!
            (0x19c3_0441, "x1 x2 nzcv", "x1 x2 x3 nzcv"),    // setp [x1]!, x2!, x3
            (0xf83f_d028, "x8 x9 x10 x11 x12 x13 x14 x15", "x1"), // ld64b x8, [x1]
            (0xf822_b028, "x2", "x1 x8 x9 x10 x11 x12 x13 x14 x15"), // st64bv x2, x8, [x1]
            (0xd942_0861, "x1 x2 x3", "x3"),                 // ldiapp x1, x2, [x3], #16
            (0xd942_1861, "x1 x2", "x3"),                    // ldiapp x1, x2, [x3]
            (0xe940_0861, "x1 x2", "x3"),                    // ldtp x1, x2, [x3]
            (0x1922_0443, "x3", "x2"),                       // ldtadd w2, w3, [x2]
            (0x1922_0cc4, "x2 x3 nzcv", "x2 x3 x4 x5 x6"),   // rcwcasp x2, x3, x4, x5, [x6]
            (0x3822_90c3, "x3 nzcv", "x2 x6"),               // rcwclr x2, x3, [x6]
        ]);
    }

    #[test]
    fn what_signs_or_tags_a_register_reads_it() {
        assert_registers(&[
            (0xd960_0041, "x1", "x1 x2"), // ldg x1, [x2]
            (0xdac1_00a4, "x4", "x4 x5"), // pacia x4, x5
            (0x9ac6_30a4, "x4", "x5 x6"), // pacga x4, x5, x6
            (0x9a03_2841, "x1", "x2 x3"), // addpt x1, x2, x3, lsl #2
            (0xf820_1c41, "x1 x2", "x2"), // ldraa x1, [x2, #8]!
            (0xf820_1441, "x1", "x2"),    // ldraa x1, [x2, #8]
            (0xd61f_087f, "", "x3"),      // braaz x3
            (0xd71f_0864, "", "x3 x4"),   // braa x3, x4
        ]);
    }

    #[test]
    fn flags_change_where_the_manual_says_so() {
        assert_registers(&[
            (0xd53b_2401, "x1 nzcv", ""),         // mrs x1, RNDR
            (0x1e7e_0041, "x1 nzcv", "z2"),       // fjcvtzs w1, d2
            (0x2518_e3e3, "p3", "p3"),            // ptrue p3.b
            (0x2519_e3e3, "p3 nzcv", "p3"),       // ptrues p3.b
            (0x2522_1423, "p3 nzcv", "p3 x1 x2"), // whilelt p3.b, x1, x2
            (0x25e2_2020, "nzcv", "x1 x2 nzcv"),  // ctermeq x1, x2
            (0x2520_7130, "p0", "p0 p9"),         // pext p0.b, pn9[1]
        ]);
    }

    #[test]
    fn calls_of_the_system_read_and_may_change_what_any_convention_passes() {
        let passed = (0..=17).map(Reg::general).fold(RegSet::EMPTY.with(Reg::FLAGS), RegSet::with);
        for word in [0xd400_0001_u32, 0xd400_0002, 0xd400_0003] {
            // svc #0, hvc #0, smc #0
            let insn = decode(&word.to_le_bytes(), Svma(0)).unwrap();
            assert_eq!(passed.minus(insn.reads).union(passed.minus(insn.writes)), RegSet::EMPTY);
            assert!(!insn.writes.contains(Reg::general(18)), "the caller's registers stay");
        }
    }
}

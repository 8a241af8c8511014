//! Patch stage, audit: an instruction → where control goes from it, and which general registers its fields
//! may name.
//!
//! In: one instruction. Out: its [`Flow`] and its [`Registers`]. This is no decoder, but a short list of
//! encoding classes. What is not in it reads and writes every register that a field of 5 bits (at bits 0, 5,
//! 10 and 16) could name, and the next one, as pairs do. The list has the classes in which a field is
//! certainly an immediate or only written. So a forgotten operand is a needless refusal, never a wrong
//! acceptance. Follows the Arm ARM (DDI 0487), C4.1 "A64 instruction set encoding", whose top-level field
//! `op0` is bits 28 to 25.

/// Where control goes from an instruction, in bytes from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next one.
    Next,
    /// Elsewhere.
    Jump(i64),
    /// Elsewhere or to the next one.
    Branch(i64),
    /// To a function, and from there to the next one.
    Call(i64),
    /// The same, to where a register says.
    IndirectCall,
    /// To where a register says.
    IndirectJump,
    /// To the caller.
    Return,
    /// Nowhere: a trap, or no instruction.
    Stop,
}

/// Sets of general registers; bit n is xn, up to x30.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Registers {
    /// May be read.
    pub(crate) reads: u32,
    /// Are certainly written, all 64 bits.
    pub(crate) kills: u32,
    /// May be written.
    pub(crate) writes: u32,
}

/// x0 to x30.
pub(crate) const ALL: u32 = 0x7fff_ffff;
/// What a hypervisor or monitor call may take and return (SMCCC: x0 to x17).
const MONITOR_CALL: u32 = 0x3_ffff;
/// What a system call may take: its number in x8, and arguments before that.
const SYSTEM_CALL: u32 = 0x1ff;
/// What AAPCS64 lets a call write: x0 to x18, and x30.
const CALLED: u32 = 0x4007_ffff;
/// The registers that hints of pointer authentication and FEAT_CHK name without a field.
const IMPLICIT: u32 = 1 << 15 | 1 << 16 | 1 << 17 | 1 << 30;
/// x8 to x15, of which SME and some of SVE take one by a field of 2 bits.
const SLICE_INDEX: u32 = 0xff00;

pub(crate) const NOP: u32 = 0xd503_201f;

const fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & ((1 << (high - low + 1)) - 1)
}

/// The register that a field at a bit names; nothing for SP and the zero register.
const fn field(word: u32, low: u32) -> u32 {
    (1 << bits(word, low + 4, low)) & ALL
}

/// That register and the next.
const fn pair(word: u32, low: u32) -> u32 {
    (field(word, low) | field(word, low) << 1) & ALL
}

const fn any_field(word: u32) -> u32 {
    pair(word, 0) | pair(word, 5) | pair(word, 10) | pair(word, 16)
}

/// A signed field, in instructions, as bytes.
fn offset(word: u32, low: u32, length: u32) -> i64 {
    i64::from((word << (32 - length - low)).cast_signed() >> (32 - length)) * 4
}

/// Where control goes.
pub(crate) fn flow(word: u32) -> Flow {
    match word >> 24 {
        0x14..=0x17 => Flow::Jump(offset(word, 0, 26)),
        0x94..=0x97 => Flow::Call(offset(word, 0, 26)),
        0x34 | 0x35 | 0xb4 | 0xb5 | 0x54 => Flow::Branch(offset(word, 5, 19)),
        0x36 | 0x37 | 0xb6 | 0xb7 => Flow::Branch(offset(word, 5, 14)),
        // Compare and branch of FEAT_CMPBR.
        0x74 | 0x75 | 0xf4 | 0xf5 => Flow::Branch(offset(word, 5, 9)),
        // RETAASPPC and RETABSPPC, of an immediate.
        0x55 => Flow::Return,
        0xd6 | 0xd7 => match bits(word, 23, 21) {
            0b000 => Flow::IndirectJump,
            0b001 => Flow::IndirectCall,
            0b010 => Flow::Return,
            _ => Flow::Stop,
        },
        // Bits 23 to 21: SVC, HVC and SMC; BRK; HLT, which a debugger may answer.
        0xd4 => match bits(word, 23, 21) {
            0b000 | 0b010 => Flow::Next,
            _ => Flow::Stop,
        },
        // Reserved, UDF among it; SME has bit 31.
        0x00 | 0x01 => Flow::Stop,
        _ => Flow::Next,
    }
}

/// Which general registers an instruction may read and write.
pub(crate) fn registers(word: u32) -> Registers {
    let generic = |reads: u32| Registers { reads, kills: 0, writes: reads };
    match bits(word, 28, 25) {
        0b1000 | 0b1001 => immediate(word),
        0b1010 | 0b1011 => system(word),
        0b0100 | 0b0110 | 0b1100 | 0b1110 => access(word),
        0b0101 | 0b1101 => register(word),
        0b0111 | 0b1111 => vector(word),
        0b0000 | 0b0010 => generic(any_field(word) | SLICE_INDEX),
        _ => generic(ALL),
    }
}

/// Reads some registers, writes others whole.
const fn plain(reads: u32, kills: u32) -> Registers {
    Registers { reads, kills, writes: kills }
}

const fn any(word: u32) -> Registers {
    Registers { reads: any_field(word), kills: 0, writes: any_field(word) }
}

/// C4.1.92, data processing with an immediate.
fn immediate(word: u32) -> Registers {
    let (rd, rn) = (field(word, 0), field(word, 5));
    // With Rd 31, additions write SP, logical operations too, none of them a register of these.
    match (bits(word, 25, 23), bits(word, 30, 29)) {
        // adr, adrp
        (0b000 | 0b001, _) => plain(0, rd),
        // Additions, with tags and minima; logical operations.
        (0b010..=0b100, _) => plain(rn, rd),
        // movn, movz; movk keeps the rest.
        (0b101, 0b00 | 0b10) => plain(0, rd),
        (0b101, _) => Registers { reads: rd, kills: 0, writes: rd },
        // sbfm, ubfm; bfm keeps the rest.
        (0b110, 0b00 | 0b10) => plain(rn, rd),
        (0b110, _) => Registers { reads: rd | rn, kills: 0, writes: rd },
        // extr; authentication of a return address has other bits here.
        (0b111, 0b00) => plain(rn | field(word, 16), rd),
        _ => Registers { reads: ALL, kills: 0, writes: ALL },
    }
}

/// C4.1.93, branches, exceptions and system instructions.
fn system(word: u32) -> Registers {
    let (rt, rn) = (field(word, 0), field(word, 5));
    let link = 1 << 30;
    match flow(word) {
        Flow::Call(_) => Registers { reads: 0, kills: link, writes: CALLED },
        Flow::IndirectCall => Registers { reads: rn | rt, kills: link, writes: CALLED },
        Flow::IndirectJump => Registers { reads: rn | if bits(word, 15, 10) == 0 { 0 } else { rt }, ..EMPTY },
        Flow::Return => Registers { reads: rn | link | field(word, 16), ..EMPTY },
        Flow::Jump(_) | Flow::Stop => EMPTY,
        // Conditions only.
        Flow::Branch(_) if word >> 24 == 0x54 => EMPTY,
        Flow::Branch(_) if matches!(word >> 24, 0x74 | 0x75 | 0xf4 | 0xf5) => {
            Registers { reads: rt | field(word, 16), ..EMPTY }
        }
        Flow::Branch(_) => Registers { reads: rt, ..EMPTY },
        // Bits 4 to 0 are 00001 for SVC; HLT is not one that a hypervisor answers, but a debugger may.
        Flow::Next if word >> 24 == 0xd4 => {
            let reads = if word & 0x00e0_001f == 1 { SYSTEM_CALL } else { MONITOR_CALL };
            Registers { reads, kills: 0, writes: MONITOR_CALL }
        }
        Flow::Next => match word {
            // Hints. Of these nop, yield, wfe, wfi, sev, sevl, dgh, esb, psb, tsb, csdb and bti name nothing.
            _ if word & 0xffff_f01f == 0xd503_201f => match bits(word, 11, 5) {
                0..=6 | 16..=18 | 20 | 32 | 34 | 36 | 38 => EMPTY,
                _ => Registers { reads: IMPLICIT, kills: 0, writes: IMPLICIT },
            },
            // Barriers and clrex.
            _ if word & 0xffff_f01f == 0xd503_301f => EMPTY,
            // mrs
            _ if word & 0xfff0_0000 == 0xd530_0000 => plain(0, rt),
            // sysp, msrr and mrrs take a pair.
            _ => Registers { reads: pair(word, 0), kills: 0, writes: pair(word, 0) },
        },
    }
}

const EMPTY: Registers = Registers { reads: 0, kills: 0, writes: 0 };

/// C4.1.94, loads and stores.
fn access(word: u32) -> Registers {
    let (rt, rn, rt2, rs) = (field(word, 0), field(word, 5), field(word, 10), field(word, 16));
    let (is_vector, is_load) = (bits(word, 26, 26) == 1, bits(word, 22, 22) == 1);
    match bits(word, 29, 27) {
        // Loads of a literal; with opc 11 a prefetch.
        0b011 if bits(word, 25, 24) == 0 => match (is_vector, word >> 30) {
            (false, 0b00..=0b10) => plain(0, rt),
            _ => EMPTY,
        },
        0b001 if !is_vector && bits(word, 25, 24) == 0 => exclusive(word),
        // Pairs. Bits 24 and 23: without write-back, after, without, before.
        0b101 => {
            let base = if bits(word, 23, 23) == 1 { rn } else { 0 };
            match (is_vector, is_load, word >> 30) {
                (true, ..) => Registers { reads: rn, kills: 0, writes: base },
                (false, true, 0b00..=0b10) => {
                    Registers { reads: rn, kills: rt | rt2, writes: rt | rt2 | base }
                }
                (false, false, 0b00..=0b10) => Registers { reads: rn | rt | rt2, kills: 0, writes: base },
                _ => any(word),
            }
        }
        0b111 => single(word, (rt, rn, rs), is_vector),
        // Of vectors: structures, whose base and step are these.
        0b001 if is_vector => Registers { reads: rn | rs, kills: 0, writes: rn },
        _ => any(word),
    }
}

/// Exclusives, ordered accesses and compare-and-swaps: bits 29 to 24 are 001000.
fn exclusive(word: u32) -> Registers {
    let (rt, rn, rt2, rs) = (field(word, 0), field(word, 5), field(word, 10), field(word, 16));
    let is_load = bits(word, 22, 22) == 1;
    match (bits(word, 23, 23), bits(word, 21, 21), is_load, word >> 31) {
        (0, 0, true, _) => plain(rn, rt),
        (0, 0, false, _) => plain(rn | rt, rs),
        (1, 0, true, _) => plain(rn, rt),
        (1, 0, false, _) => Registers { reads: rn | rt, ..EMPTY },
        (0, 1, true, 1) => plain(rn, rt | rt2),
        (0, 1, false, 1) => plain(rn | rt | rt2, rs),
        // Compare-and-swaps: what is expected is also written.
        (1, 1, ..) => Registers { reads: rn | rt | rs, kills: 0, writes: rs },
        _ => any(word),
    }
}

/// Accesses of one register: bits 29 to 27 are 111.
fn single(word: u32, (rt, rn, rs): (u32, u32, u32), is_vector: bool) -> Registers {
    let (size, opc) = (word >> 30, bits(word, 23, 22));
    let is_prefetch = !is_vector && size == 3 && opc == 2;
    let of = |address: u32, base: u32| match (is_vector || is_prefetch, opc) {
        (true, _) => Registers { reads: address, kills: 0, writes: base },
        (false, 0) => Registers { reads: address | rt, kills: 0, writes: base },
        (false, _) => Registers { reads: address, kills: rt, writes: rt | base },
    };
    match (bits(word, 24, 24), bits(word, 21, 21), bits(word, 11, 10)) {
        (1, ..) => of(rn, 0),
        (0, 0, 0b00 | 0b10) => of(rn, 0),
        // With write-back.
        (0, 0, _) => of(rn, rn),
        (0, 1, 0b10) => of(rn | rs, 0),
        // Atomics: the operations, swp and ldapr. Their neighbours move 64 bytes from 8 registers.
        (0, 1, 0b00) if !is_vector && (bits(word, 15, 12) <= 0b1000 || bits(word, 15, 12) == 0b1100) => {
            plain(rn | rs, rt)
        }
        (0, 1, 0b00) if !is_vector => {
            let eight = 0xff_u32.checked_shl(bits(word, 4, 0)).unwrap_or(0) & ALL;
            Registers { reads: any_field(word) | eight, kills: 0, writes: any_field(word) | eight }
        }
        _ => any(word),
    }
}

/// C4.1.95, data processing with registers.
fn register(word: u32) -> Registers {
    let (rd, rn, ra, rm) = (field(word, 0), field(word, 5), field(word, 10), field(word, 16));
    if bits(word, 28, 28) == 0 {
        return plain(rn | rm, rd);
    }
    match (bits(word, 24, 21), bits(word, 15, 10)) {
        // adc, sbc; the others of this class set flags.
        (0b0000, 0) => plain(rn | rm, rd),
        // With bit 11 the second operand is an immediate.
        (0b0010, _) if bits(word, 11, 11) == 1 => Registers { reads: rn, ..EMPTY },
        (0b0010, _) => Registers { reads: rn | rm, ..EMPTY },
        (0b0100, _) => plain(rn | rm, rd),
        (0b0110, _) if bits(word, 30, 30) == 0 => plain(rn | rm, rd),
        // One source; with another opcode2 pointer authentication, which changes a register in its place.
        (0b0110, _) if bits(word, 20, 16) == 0 => plain(rn, rd),
        (0b0110, _) => Registers { reads: any_field(word) | IMPLICIT, kills: 0, writes: rd | IMPLICIT },
        (0b1000..=0b1111, _) => plain(rn | rm | ra, rd),
        _ => any(word),
    }
}

/// C4.1.96, vectors and floating point: only conversions and moves take general registers.
fn vector(word: u32) -> Registers {
    let both = field(word, 0) | field(word, 5);
    let is_scalar = bits(word, 30, 24) == 0b001_1110;
    let converts = is_scalar && (bits(word, 21, 21) == 0 || bits(word, 15, 10) == 0);
    // dup, ins, umov and smov
    let moves = bits(word, 28, 21) == 0b0111_0000 && bits(word, 15, 15) == 0 && bits(word, 10, 10) == 1;
    if converts || moves { Registers { reads: both, kills: 0, writes: both } } else { EMPTY }
}

/// What `adr` and `adrp` make, from their own address.
pub(crate) fn address(word: u32, at: u64) -> Option<u64> {
    let low = i64::from(bits(word, 30, 29));
    let far = offset(word, 5, 19) | low;
    match word & 0x9f00_0000 {
        0x1000_0000 => Some(at.wrapping_add_signed(far)),
        0x9000_0000 => Some((at & !0xfff).wrapping_add_signed(far << 12)),
        _ => None,
    }
}

/// Where a store of general registers puts its bytes from its base, and how many; nothing, for another instruction or an index.
pub(crate) fn stored_at(word: u32) -> Option<(i64, i64)> {
    let scaled = |low: u32, width: u32, size: i64| {
        i64::from((word << (32 - low - width)).cast_signed() >> (32 - width)) * size
    };
    let size = 1_i64 << (word >> 30);
    match word {
        // str with an unsigned offset; stur and those that move the base
        _ if word & 0x3fc0_0000 == 0x3900_0000 => Some((i64::from(word >> 10 & 0xfff) * size, size)),
        _ if word & 0x3fe0_0000 == 0x3800_0000 && word >> 10 & 3 != 2 => Some((scaled(12, 9, 1), size)),
        // stp of 4 and 8 bytes
        _ if word & 0x7e40_0000 == 0x2800_0000 => {
            let each = if word >> 31 == 1 { 8 } else { 4 };
            Some((scaled(15, 7, each), 2 * each))
        }
        // str, stur and stp of vector registers
        _ if word & 0x3f40_0000 == 0x3d00_0000 => {
            let size = 1_i64 << (word >> 30 | (word >> 21 & 4));
            Some((i64::from(word >> 10 & 0xfff) * size, size))
        }
        _ if word & 0x3f60_0000 == 0x3c00_0000 && word >> 10 & 3 != 2 => {
            Some((scaled(12, 9, 1), 1 << (word >> 30 | (word >> 21 & 4))))
        }
        _ if word & 0x3e40_0000 == 0x2c00_0000 => {
            let each = 4_i64 << (word >> 30);
            Some((scaled(15, 7, each), 2 * each))
        }
        _ => None,
    }
}

/// `add` of an immediate to a 64-bit register: source and value.
pub(crate) fn added(word: u32) -> Option<(u8, u64)> {
    let shift = 12 * bits(word, 22, 22);
    (word & 0xff80_0000 == 0x9100_0000)
        .then(|| (bits(word, 9, 5) as u8, u64::from(bits(word, 21, 10)) << shift))
}

/// What remains of a register after `movz`, `movn` or `movk`.
pub(crate) fn moved(word: u32, before: Option<u64>) -> Option<u64> {
    let shift = 16 * bits(word, 22, 21);
    let part = u64::from(bits(word, 20, 5)) << shift;
    let narrow = if word >> 31 == 0 { 0xffff_ffff } else { u64::MAX };
    match (word >> 23 & 0xff, before) {
        (0xa5, _) => Some(part & narrow),
        (0x25, _) => Some(!part & narrow),
        (0xe5, Some(before)) => Some(before & !(0xffff << shift) & narrow | part),
        _ => None,
    }
}

/// Load-exclusive, single or of a pair.
pub(crate) const fn is_load_exclusive(word: u32) -> bool {
    is_exclusive(word) && word & 0x0040_0000 != 0
}

/// Store-exclusive, single or of a pair.
pub(crate) const fn is_store_exclusive(word: u32) -> bool {
    is_exclusive(word) && word & 0x0040_0000 == 0
}

/// Bit 23 is clear; pairs have bits 31 and 21 (with bit 31 clear these are `casp`). FEAT_LSUI adds some with
/// bit 24.
const fn is_exclusive(word: u32) -> bool {
    word & 0x3e80_0000 == 0x0800_0000 && (word & 0x0020_0000 == 0 || word >> 31 == 1)
}

/// `clrex`
pub(crate) const fn is_clear_exclusive(word: u32) -> bool {
    word & 0xffff_f0ff == 0xd503_305f
}

/// `sev` and `sevl`.
pub(crate) const fn signals(word: u32) -> bool {
    word & 0xffff_ffdf == 0xd503_209f
}

/// `wfe` and `wfet`.
pub(crate) const fn waits(word: u32) -> bool {
    word == 0xd503_205f || word & !0x1f == 0xd503_1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u32]) -> u32 {
        numbers.iter().fold(0, |all, number| all | 1 << number)
    }

    #[test]
    fn what_is_read_is_among_what_fields_name_and_what_is_killed_is_written_whole() {
        let all: Vec<u32> = (0..18).collect();
        let cases: [(u32, &[u32], &[u32]); 34] = [
            (0xa8c1_7bfd, &[], &[29, 30]),              // ldp x29, x30, [sp], #16
            (0xa9bf_7bfd, &[29, 30], &[]),              // stp x29, x30, [sp, #-16]!
            (0xf842_07fe, &[], &[30]),                  // ldr x30, [sp], #32
            (0xb865_5883, &[4, 5], &[3]),               // ldr w3, [x4, w5, uxtw #2]
            (0xf980_00e0, &[7], &[]),                   // prfm pldl1keep, [x7]
            (0xb821_0062, &[1, 3], &[2]),               // ldadd w1, w2, [x3]
            (0x4824_7c2c, &[1, 4, 5, 12, 13], &[]),     // casp x4, x5, x12, x13, [x1]
            (0xc87f_2408, &[0], &[8, 9]),               // ldxp x8, x9, [x0]
            (0xc82a_9804, &[0, 4, 6], &[10]),           // stlxp w10, x4, x6, [x0]
            (0xd280_0029, &[], &[9]),                   // mov x9, #1
            (0xf2a0_0049, &[9], &[]),                   // movk x9, #2, lsl #16
            (0xb378_1c83, &[3, 4], &[]),                // bfi x3, x4, #8, #8
            (0xd348_3c83, &[4], &[3]),                  // ubfx x3, x4, #8, #8
            (0x9b03_1041, &[2, 3, 4], &[1]),            // madd x1, x2, x3, x4
            (0x7a50_1804, &[0], &[]),                   // ccmp w0, #16, #4, ne
            (0x7a50_1004, &[0, 16], &[]),               // ccmp w0, w16, #4, ne
            (0x9a83_0041, &[2, 3], &[1]),               // csel x1, x2, x3, eq
            (0x1e71_2a01, &[], &[]),                    // fadd d1, d16, d17
            (0x4e08_1da0, &[13], &[]),                  // mov v0.d[0], x13
            (0x3cc1_05a0, &[13], &[]),                  // ldr q0, [x13], #16
            (0xd400_0001, &[0, 1, 2, 3, 4, 5, 8], &[]), // svc #0
            (0xd400_0002, &all, &[]),                   // hvc #0
            (0xdac1_00a4, &[4, 5], &[]),                // pacia x4, x5
            (0xd503_233f, &[30], &[]),                  // paciasp
            (0xd503_201f, &[], &[]),                    // nop
            (0xd53b_d043, &[], &[3]),                   // mrs x3, tpidr_el0
            (0xd51b_d043, &[3], &[]),                   // msr tpidr_el0, x3
            (0xd50b_7a25, &[5], &[]),                   // dc cvac, x5
            (0xa5ed_4020, &[1, 13], &[]),               // ld1d {z0.d}, p0/z, [x1, x13, lsl #3]
            (0xf83f_9028, &[1, 8, 9, 15], &[]),         // st64b x8, [x1]
            (0xd63f_00a0, &[5], &[30]),                 // blr x5
            (0xd65f_03c0, &[30], &[]),                  // ret
            (0xb400_0046, &[6], &[]),                   // cbz x6, #8
            (0x1000_0021, &[], &[1]),                   // adr x1, #4
        ];
        for (word, reads, kills) in cases {
            let named = registers(word);
            assert_eq!(named.reads & set(reads), set(reads), "{word:#010x}: {named:?}");
            assert_eq!(named.kills, set(kills), "{word:#010x}: {named:?}");
            assert_eq!(named.writes & named.kills, named.kills, "{word:#010x}: {named:?}");
        }
    }

    #[test]
    fn a_class_that_is_not_listed_reads_all_that_its_fields_could_name() {
        // sys #0, c0, c0, #0, x7; ldapur x1, [x2]; cpyfp [x0]!, [x1]!, x2!; an SVE instruction
        for (word, named) in [(0xd508_0007, 1 << 7), (0xd940_0041, 6), (0x1901_0440, 7), (0x0420_0000_u32, 1)]
        {
            assert_eq!(registers(word).reads & named, named, "{word:#010x}");
            assert_eq!(registers(word).kills, 0, "{word:#010x}");
        }
    }

    #[test]
    fn control_goes_where_the_manual_says() {
        let cases = [
            (0x1400_0002, Flow::Jump(8)),      // b #8
            (0x97ff_ffff, Flow::Call(-4)),     // bl #-4
            (0x54ff_ffe1, Flow::Branch(-4)),   // b.ne #-4
            (0xb400_0046, Flow::Branch(8)),    // cbz x6, #8
            (0x3747_ffe0, Flow::Branch(-4)),   // tbnz w0, #8, #-4
            (0xd61f_00a0, Flow::IndirectJump), // br x5
            (0xd71f_08a6, Flow::IndirectJump), // braa x5, x6
            (0xd63f_00a0, Flow::IndirectCall), // blr x5
            (0xd65f_03c0, Flow::Return),       // ret
            (0xd65f_0bff, Flow::Return),       // retaa
            (0xd400_0001, Flow::Next),         // svc #0
            (0xd420_0000, Flow::Stop),         // brk #0
            (0x0000_0000, Flow::Stop),         // udf #0
            (0xd503_201f, Flow::Next),         // nop
        ];
        for (word, expected) in cases {
            assert_eq!(flow(word), expected, "{word:#010x}");
        }
    }
}

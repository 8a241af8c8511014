//! The sweep over A64 code: see [`crate::insn::sweep`].
//!
//! In: the bytes of one unit. Out: counts and events in a [`Sweep`]. The prefilter settles nine words of ten; the few
//! that name a place are read straight from the word, and only the rest goes through the decoder.

use super::arithmetic::{may_be_scalar, may_be_vector};
use super::features::Group;
use super::features::feature_group_count;
use super::fields::{adr_displacement, adrp_displacement, bits};
use super::plain::{self, CALL, CONDITIONAL, JUMP, Kind, Row};
use super::summary::displacement;
use super::summary::{Control, Summary, is_hint, is_trap, of_hint, summarize};
use crate::address::CodeOffset;
use crate::address::Svma;
use crate::insn::sweep::{
    BackEdge, COMPUTING_LOOP, ComputingLoop, Edge, FeatureHit, Interest, Loops, Mark, Reference,
    ReferenceKind, SHORT_LOOP, Sweep,
};
use crate::insn::{Class, ClassSet, FeatureGroup};

/// The classes that the prefilter does not distinguish.
const HIDDEN: ClassSet = ClassSet::of(&[Class::Other, Class::Load, Class::Store]);

/// Sweeps one unit. `code` reaches from the unit's start, at offset `at`, to the next place where an
/// instruction is known to begin. Instructions that begin at or after `length` bytes are left to the caller's next
/// call. An instruction that does not fit into `code` is undecodable. Returns where the last one ended.
pub fn sweep(
    code: &[u8],
    length: usize,
    at: CodeOffset,
    interest: &Interest,
    sweep: &mut Sweep,
) -> CodeOffset {
    if sweep.groups.len() < feature_group_count() {
        sweep.groups.resize(feature_group_count(), 0);
    }
    let begins = length.min(code.len());
    // Every word that begins before `begins`, as far as `code` holds all of it.
    let whole = begins.div_ceil(4).min(code.len() / 4) * 4;
    let words = code.get(..whole).unwrap_or_default();
    let unit = Unit { words, at, length, interest };
    if interest.wants.classes.intersects(HIDDEN) {
        unit.run::<false>(sweep)
    } else {
        unit.run::<true>(sweep)
    }
    if interest.wants.loops != Loops::None {
        unit.note_loops(interest.wants.loops, &mut sweep.back_edges);
    }
    if interest.wants.computing {
        unit.note_computing_loops(&mut sweep.computing_loops);
    }
    let tail = if whole < begins { code.len() - whole } else { 0 };
    if tail != 0 {
        sweep.undecoded += tail as u64;
        sweep.undecodable.push(at.wrapping_add(whole as u32));
    }
    at.wrapping_add((whole + tail) as u32)
}

struct Unit<'a> {
    words: &'a [u8],
    at: CodeOffset,
    length: usize,
    interest: &'a Interest,
}

/// Counts that are kept in registers and added up at the end of a unit.
#[derive(Default)]
struct Counts {
    /// SIMD&FP in the low half, Advanced SIMD in the high half: a unit is shorter than 2³² words.
    plain: u64,
    /// Words that [`Unit::full`] counted itself.
    elsewhere: u64,
    undecoded: u64,
}

/// So many words go through the prefilter before those that it left are examined: their places fit into a byte.
const BLOCK: usize = 64;

impl Unit<'_> {
    /// With `FAST`, words that the prefilter settles are only counted, unless they transfer control.
    fn run<const FAST: bool>(&self, sweep: &mut Sweep) {
        let mut counts = Counts::default();
        // The index after the last undecodable word: one more there continues its run.
        let mut run_end = usize::MAX;
        let words = self.words.as_chunks::<4>().0;
        let exits = if self.interest.conditional_exits { JUMP | CONDITIONAL } else { JUMP };
        for (number, block) in words.chunks(BLOCK).enumerate() {
            // What is left is too irregular to predict: every word is noted, and only the count depends on it.
            let mut left = [0u8; BLOCK];
            let mut count = 0;
            for (i, bytes) in block.iter().enumerate() {
                let word = u32::from_le_bytes(*bytes);
                let row = plain::row(word);
                let is_plain = FAST & plain::is_plain(row, word);
                counts.plain += row.counts & u64::from(is_plain).wrapping_neg();
                if let Some(slot) = left.get_mut(count & (BLOCK - 1)) {
                    *slot = i as u8;
                }
                count += usize::from(!is_plain | (row.transfer & (CALL | exits) != 0));
            }
            for &i in left.get(..count).unwrap_or_default() {
                let index = number * BLOCK + usize::from(i);
                let Some(bytes) = words.get(index) else { continue };
                let word = u32::from_le_bytes(*bytes);
                let row = plain::row(word);
                if FAST && plain::is_plain(row, word) {
                    self.transfer_of(row, word, index, sweep);
                    continue;
                }
                if FAST && self.direct(row.kind, word, index, words, &mut counts, sweep) {
                    continue;
                }
                counts.elsewhere += 1;
                if !self.full::<FAST>(word, index, words, sweep) {
                    counts.undecoded += 4;
                    if run_end != index {
                        sweep.undecodable.push(self.offset(index));
                    }
                    run_end = index + 1;
                }
            }
        }
        let (fp, simd) = (counts.plain & 0xffff_ffff, counts.plain >> 32);
        let base = words.len() as u64 - counts.elsewhere - fp - simd;
        for (group, count) in [(Group::Base, base), (Group::Fp, fp), (Group::Asimd, simd)] {
            if let Some(total) = sweep.groups.get_mut(group as usize) {
                *total += count;
            }
        }
        sweep.decoded += self.words.len() as u64 - counts.undecoded;
        sweep.undecoded += counts.undecoded;
    }

    /// Notes the short loops.
    fn note_loops(&self, loops: Loops, found: &mut Vec<BackEdge>) {
        let words = self.words.as_chunks::<4>().0;
        for (index, bytes) in words.iter().enumerate() {
            let back = words_back(u32::from_le_bytes(*bytes), SHORT_LOOP);
            let Some(back) = back.filter(|back| *back <= index) else { continue };
            let body = words.get(index - back..index).unwrap_or_default();
            let is_quiet = !body.iter().any(|bytes| acts(u32::from_le_bytes(*bytes)));
            if is_quiet || loops == Loops::All {
                found.push(BackEdge { from: self.offset(index), to: self.offset(index - back), is_quiet });
            }
        }
    }

    /// Notes the loops that compute.
    fn note_computing_loops(&self, found: &mut Vec<ComputingLoop>) {
        let words = self.words.as_chunks::<4>().0;
        // Where the last words are that seem to compute, counted from 1.
        let (mut vector, mut scalar) = (0, 0);
        for (index, bytes) in words.iter().enumerate() {
            let word = u32::from_le_bytes(*bytes);
            vector = if may_be_vector(word) { index + 1 } else { vector };
            scalar = if may_be_scalar(word) { index + 1 } else { scalar };
            let Some(back) = words_back(word, COMPUTING_LOOP).filter(|back| *back <= index) else { continue };
            let (start, is_vector) = (index - back, vector > index - back);
            if is_vector || scalar > start {
                found.push(ComputingLoop { from: self.offset(index), to: self.offset(start), is_vector });
            }
        }
    }

    /// Records a call, or a jump that leaves the unit.
    #[inline(always)]
    fn transfer_of(&self, row: &Row, word: u32, index: usize, sweep: &mut Sweep) {
        let distance = (word << row.shifts.0) as i32 >> row.shifts.1;
        let Some(to) = self.target(index, i64::from(distance) * 4) else { return };
        let edge = Edge { from: self.offset(index), to };
        if row.transfer & CALL != 0 {
            sweep.calls.push(edge);
        } else if self.leaves(to) {
            sweep.jumps.push(edge);
        }
    }

    fn offset(&self, index: usize) -> CodeOffset {
        self.at.wrapping_add((index * 4) as u32)
    }

    /// The place `displacement` bytes from the word, if it is in code.
    #[inline(always)]
    fn target(&self, index: usize, displacement: i64) -> Option<CodeOffset> {
        let target = i64::from(self.at) + index as i64 * 4 + displacement;
        (0 <= target && target < i64::from(self.interest.code_length)).then_some(CodeOffset(target as u32))
    }

    fn leaves(&self, target: CodeOffset) -> bool {
        let inside = target.0.wrapping_sub(self.at.0) as usize;
        target < self.at || inside >= self.length
    }

    /// Treats the words that a row names without the decoder; false where the decoder is needed.
    #[inline(always)]
    fn direct(
        &self,
        kind: Kind,
        word: u32,
        index: usize,
        words: &[[u8; 4]],
        counts: &mut Counts,
        sweep: &mut Sweep,
    ) -> bool {
        match kind {
            Kind::Full => return false,
            Kind::Adr => self.address(word, index, sweep),
            Kind::Adrp => self.page(word, index, words, sweep),
            Kind::Literal => {
                if word & 0xc400_0000 == 0xc400_0000 {
                    return false;
                }
                self.literal(word, index, sweep);
                counts.plain += u64::from(bits(word, 26, 26));
            }
            Kind::Hint => {
                if !is_hint(word) {
                    return false;
                }
                let class = of_hint(word).class;
                if self.interest.wants.classes.contains(class) {
                    sweep.marks.push(Mark { at: self.offset(index), class });
                }
            }
            Kind::Trap => {
                if !is_trap(word) {
                    return false;
                }
                if self.interest.wants.classes.contains(Class::Trap) {
                    sweep.marks.push(Mark { at: self.offset(index), class: Class::Trap });
                }
            }
        }
        true
    }

    /// Records a direct call, or a direct jump that leaves the unit.
    #[inline(always)]
    fn transfer(&self, control: Control, word: u32, index: usize, sweep: &mut Sweep) {
        if !matches!(control, Control::Call26 | Control::Jump26) && !self.interest.conditional_exits {
            return;
        }
        let Some(to) = self.target(index, displacement(word, control)) else { return };
        let edge = Edge { from: self.offset(index), to };
        if control == Control::Call26 {
            sweep.calls.push(edge);
        } else if self.leaves(to) {
            sweep.jumps.push(edge);
        }
    }

    fn address(&self, word: u32, index: usize, sweep: &mut Sweep) {
        if let Some(to) = self.target(index, adr_displacement(word)) {
            sweep.references.push(Reference { from: self.offset(index), to, kind: ReferenceKind::Address });
        }
    }

    fn literal(&self, word: u32, index: usize, sweep: &mut Sweep) {
        let size = match (word >> 30, bits(word, 26, 26)) {
            (0, _) | (2, 0) => 4,
            (1, _) => 8,
            (2, _) => 16,
            _ => return, // prfm
        };
        if let Some(to) = self.target(index, displacement(word, Control::Branch19)) {
            sweep.references.push(Reference {
                from: self.offset(index),
                to,
                kind: ReferenceKind::Load(size),
            });
        }
    }

    /// `adrp`: where its page holds code, the next words may complete the address of a place there.
    #[inline(always)]
    fn page(&self, word: u32, index: usize, words: &[[u8; 4]], sweep: &mut Sweep) {
        let here = self.interest.code_base.0.wrapping_add(u64::from(self.offset(index)));
        let page = (here & !0xfff).wrapping_add_signed(adrp_displacement(word));
        let from_base = page.wrapping_sub(self.interest.code_base.0).wrapping_add(0xfff);
        if from_base < u64::from(self.interest.code_length) + 0xfff {
            let words = words.get(index + 1..).unwrap_or_default();
            self.complete(self.offset(index), page, word & 31, words, sweep);
        }
    }

    /// Follows the register that holds `page` over a few words, up to its next definition or the end of the block.
    #[cold]
    fn complete(&self, from: CodeOffset, page: u64, register: u32, words: &[[u8; 4]], sweep: &mut Sweep) {
        const REACH: usize = 8;
        for bytes in words.iter().take(REACH) {
            let word = u32::from_le_bytes(*bytes);
            let based = bits(word, 9, 5) == register;
            let imm12 = u64::from(bits(word, 21, 10));
            let completed = match word {
                _ if based && word & 0xffc0_0000 == 0x9100_0000 => Some((imm12, ReferenceKind::Address)), // add x, x, #
                _ if based && (word & 0x3b40_0000 == 0x3940_0000 || word & 0x3b80_0000 == 0x3980_0000) => {
                    loaded(word).map(|size| (imm12 * u64::from(size), ReferenceKind::Load(size)))
                }
                _ => None,
            };
            if let Some((low, kind)) = completed {
                let to = Svma(page.wrapping_add(low)).since(self.interest.code_base);
                if let Some(to) = to.and_then(|to| CodeOffset::try_from(to).ok())
                    && to < self.interest.code_length
                {
                    sweep.references.push(Reference { from, to, kind });
                }
            }
            // A transfer of control, or (as far as the low five bits show) a new value in the register.
            let transfers = word & 0x1c00_0000 == 0x1400_0000;
            if transfers || word & 31 == register {
                return;
            }
        }
    }

    /// Queries the decoder; false if the word is no instruction.
    fn full<const FAST: bool>(&self, word: u32, index: usize, words: &[[u8; 4]], sweep: &mut Sweep) -> bool {
        let Some(Summary { group, class, control }) = summarize(word) else { return false };
        if let Some(total) = sweep.groups.get_mut(group as usize) {
            *total += 1;
        }
        if group as u16 > Group::Asimd as u16 {
            sweep.hits.push(FeatureHit { at: self.offset(index), group: FeatureGroup(group as u16) });
        }
        if self.interest.wants.classes.contains(class) {
            sweep.marks.push(Mark { at: self.offset(index), class });
        }
        match control {
            Control::Next if !FAST => match plain::row(word).kind {
                Kind::Adr => self.address(word, index, sweep),
                Kind::Adrp => self.page(word, index, words, sweep),
                Kind::Literal => self.literal(word, index, sweep),
                _ => {}
            },
            Control::Next
            | Control::IndirectJump
            | Control::IndirectCall
            | Control::Return
            | Control::Stop => {}
            direct => self.transfer(direct, word, index, sweep),
        }
        true
    }
}

/// How many words back a direct jump or branch goes, if it goes no more than `longest` bytes back. DDI 0487 C4.1.
#[inline(always)]
fn words_back(word: u32, longest: u32) -> Option<usize> {
    let displacement = match word >> 24 {
        0x14..=0x17 => (word << 6) as i32 >> 6,                       // b
        0x54 | 0x34 | 0x35 | 0xb4 | 0xb5 => (word << 8) as i32 >> 13, // b.cond, cbz, cbnz
        0x36 | 0x37 | 0xb6 | 0xb7 => (word << 13) as i32 >> 18,       // tbz, tbnz
        _ => return None,
    };
    let back = displacement.checked_neg()?;
    (0 <= back && back as u32 <= longest / 4).then_some(back as usize)
}

/// Whether a word stores, calls or enters the system. Of the loads and stores, what is not known to be a load counts.
fn acts(word: u32) -> bool {
    if word & 0x0a00_0000 != 0x0800_0000 {
        let is_call = word & 0xfc00_0000 == 0x9400_0000 || word & 0xffff_fc1f == 0xd63f_0000; // bl, blr
        // svc, brk and the like; SVE's stores
        return is_call || matches!(word >> 24, 0xd4 | 0xe4 | 0xe5);
    }
    let loads = match bits(word, 29, 27) {
        // ldr of a literal; prfm
        0b011 => word & 0x0100_0000 == 0,
        // ldp, ldnp
        0b101 => word & 0x0040_0000 != 0,
        0b111 => {
            let is_ordered_load = word & 0x3fff_fc00 == 0x38bf_c000; // ldapr
            let is_atomic = word & 0x0120_0c00 == 0x0020_0000 && !is_ordered_load;
            let stores = match (bits(word, 26, 26), bits(word, 23, 22)) {
                (_, 0) => true,
                _ if is_ordered_load => false,
                (1, 2) => word >> 30 == 0, // str q
                _ => false,
            };
            !is_atomic && !stores
        }
        // ld1 to ld4, exclusives and ordered accesses by L; `cas` and `casp` have o1 set, as `ldxp` has.
        0b001 => {
            let is_pair_exclusive = word & 0x8080_0000 == 0x8000_0000;
            let is_swap = word & 0x0420_0000 == 0x0020_0000 && !is_pair_exclusive;
            word & 0x0040_0000 != 0 && !is_swap
        }
        _ => false,
    };
    !loads
}

/// The bytes that a load with an unsigned offset reads; `None` for `prfm`.
fn loaded(word: u32) -> Option<u16> {
    let (size, vector, opc) = (word >> 30, bits(word, 26, 26), bits(word, 23, 22));
    match (size, vector, opc) {
        (3, 0, 2 | 3) => None,
        (0, 1, 3) => Some(16),
        (_, 1, 2 | 3) => None,
        _ => Some(1 << size),
    }
}

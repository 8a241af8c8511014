//! Which parts of a file no optimiser has seen.
//!
//! In: an image and its functions. Out: [`Optimisation`]: stretches of neighbouring functions that were compiled at -O0, as Rust's
//! `dev` profile, or by `go build -gcflags='-N -l'`. Each function's first instructions give a likelihood ([`FrameUse`]), and
//! neighbours are judged together ([`stretches`]). `docs/explanation/provenance.md` has what the rates were measured on.

use super::frame::FrameUse;
use super::source::Source;
use super::stretch::{PRICE_OF_CHANGE, PRICE_OF_EXCEPTION, stretches};
use crate::address::{CodeOffset, Extent, Svma};
use crate::function::{Function, Program, block};
use crate::image::{Image, SymbolOrigin};
use crate::insn::Insn;
use crate::reach::returns_twice;
use deburr_cpu::Arch;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

/// Instructions of a function that are examined. Of SQLite's functions at -O0, 99 % show what they are within the first 30.
const MAX_INSTRUCTIONS: usize = 96;
/// Instructions of a function that is a sample of its neighbours.
const SAMPLED_INSTRUCTIONS: usize = 32;
const SAMPLED_BYTES: u64 = SAMPLED_INSTRUCTIONS as u64 * BYTES_PER_INSTRUCTION;
/// Bytes at the start of a function in which -O0 code has loaded what it stored, if it has an argument or a local.
const FILTERED_BYTES: usize = 160;
/// Functions of at most this length say nothing: they hardly have room for a store and a load. PLT entries are 16 bytes long.
const MAX_MUTE_BYTES: u64 = 16;
/// Length of an A64 instruction, and about the average of x86-64's, in bytes, for functions that are not decoded.
const BYTES_PER_INSTRUCTION: u64 = 4;

/// Loads of what a register holds, and idle jumps, by instruction: code without an optimiser has 0.025 (Go) to 0.13 (clang), with
/// one 0.0000 to 0.005. The two rates of a Poisson process between which they are best distinguished.
const RATE_WITHOUT: f32 = 0.03;
const RATE_WITH: f32 = 0.003;
/// What a stored argument says, or its absence.
const ARGUMENT: f32 = 0.5;
/// Bounds of what one function may say: hand-written or generated code is not to decide alone.
const MIN_SCORE: f32 = -3.0;
const MAX_SCORE: f32 = 5.0;

/// Least score and number of functions of a stretch. Where it is most of its file, as in an object file, less will do.
const MIN_STRETCH_SCORE: f32 = 30.0;
const MIN_STRETCH_FUNCTIONS: usize = 40;
const MIN_FILE_SCORE: f32 = 6.0;
/// Least rate of a stretch, by the same measure. Unoptimised C has 0.05 and more, Rust 0.043. Clusters of optimised code with many
/// spills (codecs, compressors) reach 0.036.
const MIN_RATE: f32 = 0.04;
/// The same of a stretch that is most of its file, and in a file of which no optimiser has seen a large part. Parts of Rust's
/// libraries have 0.038, as Debian's dmsetup.
const MIN_RATE_OF_EXCEPTION: f32 = 0.03;
/// Least rate where idle jumps are [`MIN_IDLE_RATE`] of the instructions. Zig's own compiler for A64 has 0.024.
const MIN_RATE_WITH_IDLE_JUMPS: f32 = 0.02;
/// With an optimiser, at most 0.0003 of the instructions are idle jumps; without, 0.0001 (gcc), and otherwise 0.01 (Zig) to 0.09 (clang, A64).
const MIN_IDLE_RATE: f32 = 0.005;
/// Least rate of idle jumps in Go: 0.06 without an optimiser. With one, a structure that arrives in registers is stored and loaded
/// again, but no jump is idle.
const MIN_IDLE_RATE_OF_GO: f32 = 0.02;
/// Least functions of a stretch that load what a register holds.
const MIN_WITNESSES: usize = 3;
/// Least percentage of a stretch's functions that store an argument. Loops that were spilled around do not.
const MIN_ARGUMENTS_PERCENT: usize = 40;
/// The same in a file of which no optimiser has seen a large part. Rust's small generic functions have 13 in 100.
const MIN_ARGUMENTS_PERCENT_OF_EXCEPTION: usize = 10;
/// Registers of the caller that a function saves in order to have variables in them. Without an optimiser, at most 6 in 100 functions save as
/// many (Zig; gcc 1 in 100); with one, of those that load what a register holds, 60 to 95 (rustc for A64 30, Free Pascal 24).
const MANY_SAVED: u32 = 3;
/// Most percentage of a stretch's functions that save so many.
const MAX_SAVING_PERCENT: usize = 33;
/// What is a large part, in per mille.
const LARGE_PER_MILLE: u64 = 250;

/// Functions of which two are examined first in a large file: half of the least stretch, so that it has such a group whole.
const GROUP: usize = MIN_STRETCH_FUNCTIONS / 2;

/// Each third function of such a group is a sample. The samples decide whether all functions of the group are examined.
const STEP: usize = 3;
/// Least samples that store an argument.
const MIN_STORING: usize = 1;

/// What a stretch must have.
#[derive(Clone, Copy)]
struct Demand {
    price_of_change: f32,
    rate: f32,
    /// Percentage of functions that store an argument.
    arguments: usize,
    idle_rate: f32,
}

/// Least unoptimised bytes that matter where they are a small part of a file, but 0.1 % of it. What is compiled so on purpose is less: 14 KB of
/// jitter entropy in libgcrypt, 6 KB of a stub for OpenACC in libgomp.
const NOTABLE_BYTES: u64 = 32 << 10;
/// Least part of a file's code that matters however small it is, in per mille.
const NOTABLE_PER_MILLE: u64 = 100;

/// Neighbouring functions that no optimiser has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// From the first function to the end of the last.
    pub extent: Extent,
    /// Functions in it.
    pub functions: u64,
    /// Bytes of these functions.
    pub bytes: u64,
}

/// How much of a file no optimiser has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Optimisation {
    /// Where, by address.
    pub stretches: Vec<Stretch>,
    /// All functions of the file, without parts and PLT entries.
    pub functions: u64,
    /// Bytes of all functions of the file.
    pub bytes: u64,
}

impl Optimisation {
    /// Judges all functions of a file, of which nothing else is known yet.
    pub fn of(image: &Image<'_>, program: &Program) -> Optimisation {
        Source::ask(image, program, Optimisation::of_source)
    }

    /// Judges all functions of a file, and again without those that keep their variables in frames where much of it is unoptimised.
    pub(crate) fn of_source(source: &Source<'_, '_>) -> Optimisation {
        let found = Optimisation::without(source, &HashSet::new());
        if !found.is_notable() {
            return found;
        }
        let keeping = keeping_variables_in_frames(source);
        if keeping.is_empty() { found } else { Optimisation::without(source, &keeping) }
    }

    /// Judges all functions of a file, of which the mute ones say nothing: of a large file first some, and the others only where much of it
    /// is unoptimised.
    fn without(source: &Source<'_, '_>, mute: &HashSet<CodeOffset>) -> Optimisation {
        let Source { image, program, .. } = *source;
        let functions: Vec<&Function> = own_functions(image, program).collect();
        let extents: Vec<Extent> = functions.iter().map(|function| function.extent(image)).collect();
        let lengths: Vec<u64> = extents.iter().map(|extent| extent.len()).collect();
        let use_of = |function: &Function, count| match mute.contains(&function.start) {
            true => FrameUse::default(),
            false => use_of_first(image, program, function.extent(image), count),
        };
        let examine = Examine {
            may_tell: &|index| extents.get(index).is_some_and(|extent| may_tell(image, *extent)),
            use_of: &|index, count| functions.get(index).map(|function| use_of(function, count)),
        };
        let judge = |uses: Vec<(usize, FrameUse)>| {
            let examined = Examined { first: 0, lengths: &lengths, uses: &uses };
            judged(&extents, examined, image.build.is_go)
        };
        let is_large = lengths.iter().sum::<u64>() * NOTABLE_PER_MILLE > NOTABLE_BYTES * 1000;
        if is_large {
            let found = judge(examine.some(&lengths));
            if !found.is_notable() {
                return found;
            }
        }
        let all = (0..lengths.len()).into_par_iter();
        judge(all.filter_map(|index| Some((index, examine.one(index)?))).collect())
    }

    /// The stretch that holds an address.
    pub fn stretch_at(&self, svma: Svma) -> Option<&Stretch> {
        let after = self.stretches.partition_point(|stretch| stretch.extent.start <= svma);
        self.stretches.get(after.checked_sub(1)?).filter(|stretch| stretch.extent.contains(svma))
    }

    /// Functions that no optimiser has seen.
    pub fn unoptimised_functions(&self) -> u64 {
        self.stretches.iter().map(|stretch| stretch.functions).sum()
    }

    /// Their bytes.
    pub fn unoptimised_bytes(&self) -> u64 {
        self.stretches.iter().map(|stretch| stretch.bytes).sum()
    }

    /// Whether so much is unoptimised that it matters: more than what is compiled so on purpose, or a large part of a small file.
    pub fn is_notable(&self) -> bool {
        let per_mille = self.per_mille();
        per_mille >= NOTABLE_PER_MILLE || per_mille > 0 && self.unoptimised_bytes() >= NOTABLE_BYTES
    }

    /// Their share of the file's code, in per mille.
    pub fn per_mille(&self) -> u64 {
        self.unoptimised_bytes().saturating_mul(1000).checked_div(self.bytes).unwrap_or(0)
    }
}

/// How a function was compiled, and what says so, as one sentence.
pub fn explanation(found: FrameUse, stretch: Option<&Stretch>) -> String {
    let FrameUse { instructions, arguments, held, idle_jumps, .. } = found;
    let counted = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let jumps = match idle_jumps {
        0 => String::new(),
        _ => format!(", has {}", counted(idle_jumps, "idle jump")),
    };
    let what = format!(
        "stores {} to its frame, loads {} that a register still holds{jumps} (first {})",
        counted(arguments, "argument"),
        counted(held, "value"),
        counted(instructions, "instruction")
    );
    match stretch {
        Some(stretch) if held + idle_jumps > 0 => {
            format!("unoptimised: {what}; in a stretch of {} such functions", stretch.functions)
        }
        Some(stretch) => {
            format!("unoptimised, by its {} neighbours: {what}", stretch.functions.saturating_sub(1))
        }
        None => format!("not in an unoptimised stretch: {what}"),
    }
}

/// What is known of neighbouring functions, which have their places among all.
#[derive(Clone, Copy)]
struct Examined<'e> {
    /// The place of the first function.
    first: usize,
    /// Of each function, in bytes.
    lengths: &'e [u64],
    /// By place, in order: what functions do with their frames, where they were examined and it says something.
    uses: &'e [(usize, FrameUse)],
}

impl<'e> Examined<'e> {
    /// What is known of some of all functions.
    fn slice(self, range: &Range<usize>) -> Option<Examined<'e>> {
        let place = |bound: usize| self.uses.partition_point(|(index, _)| *index < bound);
        let uses = self.uses.get(place(range.start)..place(range.end))?;
        Some(Examined { first: range.start, lengths: self.lengths.get(range.clone())?, uses })
    }

    /// How many instructions of them were examined. Of what was not decoded they are estimated.
    fn instructions(self) -> u32 {
        let all: u32 = self.lengths.iter().map(|length| estimated_instructions(*length)).sum();
        let of_uses = |index: usize| {
            self.lengths.get(index - self.first).map_or(0, |length| estimated_instructions(*length))
        };
        self.uses.iter().fold(all, |sum, (index, found)| sum - of_uses(*index) + found.instructions)
    }

    /// By function, how much more likely its code is without an optimiser than with one.
    fn scores(self) -> Vec<f32> {
        let mut scores: Vec<f32> = self.lengths.iter().map(|length| score(*length, None)).collect();
        for (index, found) in self.uses {
            if let (Some(place), Some(length)) = (scores.get_mut(*index), self.lengths.get(*index)) {
                *place = score(*length, Some(*found));
            }
        }
        scores
    }
}

/// The stretches of a file.
fn judged(extents: &[Extent], examined: Examined<'_>, is_go: bool) -> Optimisation {
    let scores = examined.scores();
    let bytes: u64 = examined.lengths.iter().sum();
    let accepted = |demand: Demand| {
        let found = stretches(&scores, demand.price_of_change).into_iter().filter_map(|range| {
            let (inside, scores) = (examined.slice(&range)?, scores.get(range.clone())?);
            let own: u64 = inside.lengths.iter().sum();
            let score = scores.iter().sum();
            demand.is_met(inside, score, own > bytes / 2).then_some(())?;
            let (first, last) = (extents.get(range.start)?, extents.get(range.end.checked_sub(1)?)?);
            let extent = Extent { start: first.start, end: last.end };
            Some(Stretch { extent, functions: range.len() as u64, bytes: own })
        });
        let stretches = found.collect();
        Optimisation { stretches, functions: extents.len() as u64, bytes }
    };
    let demand = Demand {
        price_of_change: PRICE_OF_CHANGE,
        rate: MIN_RATE,
        arguments: MIN_ARGUMENTS_PERCENT,
        idle_rate: if is_go { MIN_IDLE_RATE_OF_GO } else { 0.0 },
    };
    let found = accepted(demand);
    if found.per_mille() < LARGE_PER_MILLE {
        return found;
    }
    // Where much is unoptimised, more is likely to be.
    accepted(Demand {
        price_of_change: PRICE_OF_EXCEPTION,
        rate: MIN_RATE_OF_EXCEPTION,
        arguments: MIN_ARGUMENTS_PERCENT_OF_EXCEPTION,
        ..demand
    })
}

/// How functions are examined, by their places among all.
struct Examine<'e> {
    /// Whether a function's bytes may say something: cheap.
    may_tell: &'e (dyn Fn(usize) -> bool + Sync),
    /// What its first instructions do, `count` of them.
    use_of: &'e (dyn Fn(usize, usize) -> Option<FrameUse> + Sync),
}

impl Examine<'_> {
    fn one(&self, index: usize) -> Option<FrameUse> {
        (self.may_tell)(index).then(|| (self.use_of)(index, MAX_INSTRUCTIONS)).flatten()
    }

    /// What some functions do with their frames, by place. They are the members of groups with unoptimised samples, and of the groups beside
    /// these, until one is optimised. `lengths`: of all functions, in bytes.
    fn some(&self, lengths: &[u64]) -> Vec<(usize, FrameUse)> {
        let groups = lengths.len().div_ceil(GROUP);
        let members = |group: usize| group * GROUP..lengths.len().min((group + 1) * GROUP);
        let all = (0..groups).into_par_iter();
        let mut pending: Vec<usize> = all.filter(|&group| self.is_suspect(members(group), lengths)).collect();
        let mut is_known = vec![false; groups];
        let mut uses = Vec::new();
        while !pending.is_empty() {
            let examined: Vec<(f32, Vec<(usize, FrameUse)>)> =
                pending.par_iter().map(|&group| self.group(members(group), lengths)).collect();
            let mut next = BTreeSet::new();
            for (&group, (score, found)) in pending.iter().zip(examined) {
                is_known.get_mut(group).into_iter().for_each(|is_known| *is_known = true);
                if score > 0.0 {
                    next.extend([group.wrapping_sub(1), group + 1]);
                }
                uses.extend(found);
            }
            pending = next.into_iter().filter(|&group| is_known.get(group) == Some(&false)).collect();
        }
        uses.sort_unstable_by_key(|(index, _)| *index);
        uses
    }

    /// All functions of a group: how much more likely they are without an optimiser, and what they do with their frames.
    fn group(&self, members: Range<usize>, lengths: &[u64]) -> (f32, Vec<(usize, FrameUse)>) {
        let mut uses = Vec::new();
        let mut sum = 0.0;
        for (index, length) in members.clone().zip(lengths.get(members).unwrap_or_default()) {
            let found = self.one(index);
            sum += score(*length, found);
            uses.extend(found.map(|found| (index, found)));
        }
        (sum, uses)
    }

    /// Whether a group may be unoptimised: by one function of each half, and then by every third.
    fn is_suspect(&self, members: Range<usize>, lengths: &[u64]) -> bool {
        let length = |index: usize| lengths.get(index).copied().unwrap_or_default();
        let middle = members.start.midpoint(members.end);
        let pair = [members.start..middle, middle..members.end]
            .map(|mut half| half.find(|&index| length(index) > MAX_MUTE_BYTES));
        let pair = || pair.into_iter().flatten();
        let sample = |index: usize| (self.use_of)(index, SAMPLED_INSTRUCTIONS);
        let is_event = |index: usize| sample(index).is_some_and(|found| events(&found) > 0);
        if !pair().all(self.may_tell) || !pair().all(is_event) {
            return false;
        }
        let (mut storing, mut sum) = (0, 0.0);
        for index in members.step_by(STEP) {
            let found = (self.may_tell)(index).then(|| sample(index)).flatten();
            storing += usize::from(found.is_some_and(|found| found.arguments > 0));
            sum += score(length(index).min(SAMPLED_BYTES), found);
        }
        sum > 0.0 && storing >= MIN_STORING
    }
}

/// Functions that the file's compilers made, by address.
fn own_functions<'p>(image: &'p Image<'_>, program: &'p Program) -> impl Iterator<Item = &'p Function> {
    let is_plt = |function: &Function| {
        program.symbol(function, image).is_some_and(|symbol| symbol.origin == SymbolOrigin::Plt)
    };
    program.functions().iter().filter(move |function| !function.is_part() && !is_plt(function))
}

/// What a function does with its frame.
pub fn frame_use(image: &Image<'_>, program: &Program, function: &Function) -> FrameUse {
    use_of_first(image, program, function.extent(image), MAX_INSTRUCTIONS)
}

/// What the first `count` instructions of a function do with its frame.
fn use_of_first(image: &Image<'_>, program: &Program, extent: Extent, count: usize) -> FrameUse {
    let insns: Vec<Insn> = block::decode_run(image, program, extent).take(count).collect();
    FrameUse::of(image.arch, image.build.is_go, extent, &insns)
}

/// Functions that have their variables in their frames whatever the optimiser does, since they call one that returns twice (`setjmp`):
/// registers are not as they were when it returns again.
fn keeping_variables_in_frames(source: &Source<'_, '_>) -> HashSet<CodeOffset> {
    let calls = source.calls(&returns_twice);
    let functions = calls.iter().filter_map(|call| source.program.function_at(call.from));
    functions.map(|function| source.program.whole(function).start).collect()
}

/// Whether a function's bytes may load from a slot of the frame that they have stored to, or jump to the next instruction.
fn may_tell(image: &Image<'_>, extent: Extent) -> bool {
    let length = usize::try_from(extent.len()).unwrap_or(FILTERED_BYTES).min(FILTERED_BYTES);
    let start = image.bytes_at(extent.start).and_then(|code| code.get(..length));
    start.is_some_and(|start| match image.arch {
        Arch::X86_64 => may_tell_x86(start),
        Arch::Aarch64 => may_tell_a64(start),
    })
}

/// Offsets from the frame that were stored to, by their low 8 bits.
#[derive(Default)]
struct StoredSlots([u64; 4]);

impl StoredSlots {
    fn bit(offset: u8) -> (usize, u64) {
        (usize::from(offset >> 6), 1 << (offset & 63))
    }

    fn insert(&mut self, offset: u8) {
        let (word, bit) = StoredSlots::bit(offset);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    fn contains(&self, offset: u8) -> bool {
        let (word, bit) = StoredSlots::bit(offset);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}

/// What an opcode's next byte may make of it, where every byte is taken for an opcode.
#[derive(Clone, Copy)]
enum Next {
    Nothing,
    /// A `ModRM` byte: an operand at rbp with a displacement.
    AtRbp,
    /// A `ModRM` byte before an SIB byte: an operand at rsp, if that is 0x24.
    AtRsp {
        has_displacement: bool,
    },
    /// A displacement of a jump that may be idle.
    Displacement,
}

/// By the byte. SDM volume 2, table 2-2: `mod` 1 or 2 with `rm` 5, or 4 and an SIB byte without index.
#[expect(clippy::indexing_slicing, reason = "evaluated while compiling, where a bad index is an error")]
static NEXT: [Next; 256] = {
    let mut next = [Next::Nothing; 256];
    let mut byte = 0;
    while byte < next.len() {
        next[byte] = match byte & 0xc7 {
            0x45 | 0x85 => Next::AtRbp,
            0x44 | 0x84 => Next::AtRsp { has_displacement: true },
            0x04 => Next::AtRsp { has_displacement: false },
            _ if matches!(byte, 0 | 2 | 5) => Next::Displacement,
            _ => Next::Nothing,
        };
        byte += 1;
    }
    next
};

/// Whether bytes may hold `mov [rbp + n], register` and then an instruction with the same operand, the same with rsp, or a jump to
/// the next instruction.
#[expect(clippy::indexing_slicing, reason = "a byte is below the length")]
fn may_tell_x86(bytes: &[u8]) -> bool {
    let mut stored = StoredSlots::default();
    bytes.windows(4).any(|window| {
        let &[opcode, modrm, first, second] = window else { return false };
        let slot = match NEXT[usize::from(modrm)] {
            Next::Nothing => return false,
            Next::AtRbp => first,
            Next::AtRsp { has_displacement: true } if first == 0x24 => second,
            Next::AtRsp { has_displacement: false } if first == 0x24 => 0,
            Next::AtRsp { .. } => return false,
            // jmp +0; jcc over a short jump, and over a long one.
            Next::Displacement => {
                return matches!(window, [0xeb, 0, ..] | [0xe9, 0, 0, 0] | [0x70..=0x7f, 2, 0xeb, _])
                    || matches!(window, [0x70..=0x7f, 5, 0xe9, _] | [0x80..=0x8f, 5, 0, 0]);
            }
        };
        match opcode {
            0x88 | 0x89 | 0xc6 | 0xc7 => stored.insert(slot),
            _ => return stored.contains(slot),
        }
        false
    })
}

/// The same of A64: a store next to sp or x29, and a load with the same offset; a branch over a jump, or a jump to the next word.
/// DDI 0487, C4.1.94.
fn may_tell_a64(bytes: &[u8]) -> bool {
    /// `b` to the next word.
    const IDLE: u32 = 0x1400_0001;
    let mut stored = StoredSlots::default();
    let mut was_skipping = false;
    bytes.as_chunks::<4>().0.iter().any(|bytes| {
        let word = u32::from_le_bytes(*bytes);
        let is_idle = word == IDLE || was_skipping && word >> 26 == 5;
        // b.cond, cbz, cbnz; tbz, tbnz: over one word.
        was_skipping = (word >> 24 == 0x54 || word & 0x7e00_0000 == 0x3400_0000) && word >> 5 & 0x7_ffff == 2
            || word & 0x7e00_0000 == 0x3600_0000 && word >> 5 & 0x3fff == 2;
        if is_idle {
            return true;
        }
        // Of vector registers, whose bit is 26, nothing counts.
        let (slot, is_load, pair) = if word & 0x3f00_0000 == 0x3900_0000 {
            ((word >> 10 & 0xfff) << (word >> 30), word & 0x00c0_0000 != 0, None)
        } else if word & 0x3f20_0c00 == 0x3800_0000 {
            (word >> 12 & 0x1ff, word & 0x00c0_0000 != 0, None)
        } else if word & 0x3f80_0000 == 0x2900_0000 {
            let size = if word >> 31 == 1 { 8 } else { 4 };
            let slot = (word >> 15 & 0x7f).wrapping_mul(size);
            (slot, word & 0x0040_0000 != 0, Some(slot.wrapping_add(size)))
        } else {
            return false;
        };
        if !matches!(word >> 5 & 31, 29 | 31) {
            return false;
        }
        let slots = [Some(slot), pair].into_iter().flatten().map(|slot| slot as u8);
        if is_load {
            return slots.into_iter().any(|slot| stored.contains(slot));
        }
        slots.for_each(|slot| stored.insert(slot));
        false
    })
}

/// The logarithm of how much more likely a function's code is without an optimiser than with one.
fn score(length: u64, found: Option<FrameUse>) -> f32 {
    if length <= MAX_MUTE_BYTES || found.is_some_and(|found| is_mute(&found)) {
        return 0.0;
    }
    let found =
        found.unwrap_or(FrameUse { instructions: estimated_instructions(length), ..FrameUse::default() });
    let events = events(&found) as f32;
    let expected = found.instructions as f32 * (RATE_WITHOUT - RATE_WITH);
    let arguments = if found.arguments > 0 { ARGUMENT } else { -ARGUMENT };
    (events * (RATE_WITHOUT / RATE_WITH).ln() - expected + arguments).clamp(MIN_SCORE, MAX_SCORE)
}

impl Demand {
    /// Whether a stretch is one: enough of its functions store their arguments, and load what a register holds, and few save registers in order
    /// to use them.
    fn is_met(self, inside: Examined<'_>, score: f32, is_most: bool) -> bool {
        let uses = || inside.uses.iter().map(|(_, found)| found);
        let storing = uses().filter(|found| found.arguments > 0).count();
        let witnesses = uses().filter(|found| events(found) > 0).count();
        let mute = uses().filter(|found| is_mute(found)).count();
        let saving = uses().filter(|found| found.saved >= MANY_SAVED).count();
        let telling = inside.lengths.iter().filter(|length| **length > MAX_MUTE_BYTES).count();
        let telling = telling.saturating_sub(mute);
        let count: u32 = uses().map(events).sum();
        let idle: u32 = uses().map(|found| found.idle_jumps).sum();
        let examined = inside.instructions() as f32;
        // A few functions may have one by chance.
        let is_long = inside.lengths.len() >= MIN_STRETCH_FUNCTIONS;
        let has_idle_jumps = is_long && idle as f32 >= examined * MIN_IDLE_RATE;
        let (least, least_functions, rate) = match is_most {
            true => (MIN_FILE_SCORE, MIN_WITNESSES, MIN_RATE_OF_EXCEPTION),
            false => (MIN_STRETCH_SCORE, MIN_STRETCH_FUNCTIONS, self.rate),
        };
        let rate = if has_idle_jumps { rate.min(MIN_RATE_WITH_IDLE_JUMPS) } else { rate };
        score >= least
            && inside.lengths.len() >= least_functions
            && witnesses >= MIN_WITNESSES
            && storing * 100 >= telling * self.arguments
            && saving * 100 <= (uses().count() - mute) * MAX_SAVING_PERCENT
            && count as f32 >= examined * rate
            && idle as f32 >= examined * self.idle_rate
    }
}

/// How many instructions of a function would be examined.
fn estimated_instructions(length: u64) -> u32 {
    (length / BYTES_PER_INSTRUCTION).min(MAX_INSTRUCTIONS as u64) as u32
}

/// Whether what was examined says nothing.
fn is_mute(found: &FrameUse) -> bool {
    found.instructions == 0
}

/// What an optimiser would have removed.
fn events(found: &FrameUse) -> u32 {
    found.held.saturating_add(found.idle_jumps)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGUMENT_STORED: FrameUse =
        FrameUse { instructions: 20, arguments: 1, held: 2, idle_jumps: 0, saved: 0 };

    #[test]
    fn only_what_may_load_from_where_it_stored_is_decoded() {
        // mov [rbp - 4], edi; mov eax, [rbp - 4]
        assert!(may_tell_x86(&[0x55, 0x48, 0x89, 0xe5, 0x89, 0x7d, 0xfc, 0x8b, 0x45, 0xfc, 0x5d]));
        // mov [rsp + 8], rdi; mov rax, [rsp + 8]
        assert!(may_tell_x86(&[0x48, 0x89, 0x7c, 0x24, 0x08, 0x48, 0x8b, 0x44, 0x24, 0x08]));
        // mov [rsp + 8], rdi; mov rax, [rsp + 16]
        assert!(!may_tell_x86(&[0x48, 0x89, 0x7c, 0x24, 0x08, 0x48, 0x8b, 0x44, 0x24, 0x10]));
        assert!(may_tell_x86(&[0x90, 0xeb, 0x00, 0x90, 0x90])); // jmp +0
        assert!(may_tell_x86(&[0x75, 0x02, 0xeb, 0x10])); // jne +2; jmp
        let a64 = |words: &[u32]| {
            may_tell_a64(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
        };
        assert!(a64(&[0xf900_07e0, 0xf940_07e1])); // str x0, [sp, #8]; ldr x1, [sp, #8]
        assert!(a64(&[0xb81f_c3a0, 0xb85f_c3a1])); // stur w0, [x29, #-4]; ldur w1, [x29, #-4]
        assert!(a64(&[0xa901_07e0, 0xf940_0fe8])); // stp x0, x1, [sp, #16]; ldr x8, [sp, #24]
        assert!(!a64(&[0xf900_07e0, 0xf940_0be1])); // str x0, [sp, #8]; ldr x1, [sp, #16]
        assert!(a64(&[0x1400_0001])); // b +4
        assert!(a64(&[0x5400_004a, 0x1400_0010])); // b.ge +8; b
    }

    #[test]
    fn short_functions_say_nothing_and_none_says_more_than_its_bound() {
        assert_eq!(score(16, Some(ARGUMENT_STORED)), 0.0);
        assert!(score(80, Some(ARGUMENT_STORED)) > 3.0);
        assert!(score(80, None) < 0.0);
        let much = FrameUse { held: u32::MAX, idle_jumps: 1, ..ARGUMENT_STORED };
        assert_eq!(score(80, Some(much)), MAX_SCORE);
        assert_eq!(score(u64::MAX, None), MIN_SCORE);
    }

    #[test]
    fn what_is_compiled_so_on_purpose_is_not_notable() {
        let jitter = Stretch { extent: Extent::default(), functions: 78, bytes: 13_794 };
        let library = Optimisation { stretches: vec![jitter], functions: 1_716, bytes: 900_000 };
        assert!(!library.is_notable());
        assert!(Optimisation { bytes: 100_000, ..library }.is_notable());
    }
}

//! Population counts by arithmetic: bits summed in pairs, fours and bytes by masks and shifts ("SIMD within a
//! register").
//!
//! In: code. Out: [`Popcount`]. The shape is that of libgcc's and compiler-rt's `__popcountdi2`, of clang's expansion
//! of `__builtin_popcount` and of Warren, "Hacker's Delight", section 5-1. Its first mask is rare and is searched for
//! in the bytes; functions are decoded around it only. Reversing bits and interleaving them take the same masks, but
//! sum no bytes.

use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::block::{self, Graph};
use crate::function::ifunc::chosen_functions;
use crate::function::{Function, Program};
use crate::image::{Image, SymbolOrigin, TransferTarget};
use crate::insn::{self, Flow, Insn, Operation, Reg};
use deburr_cpu::{Arch, Feature};
use memchr::memmem;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// What libgcc and compiler-rt call it.
const NAMES: [&str; 3] = ["__popcountsi2", "__popcountdi2", "__popcountti2"];
/// Maximum number of instructions of a function that does nothing else.
const BODY: usize = 40;

/// A function that counts bits by arithmetic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Popcount {
    /// The first instruction with the mask; of a foreign function the first call.
    pub at: Extent,
    /// How it counts.
    pub kind: PopcountKind,
    /// Where it runs: what of it is in a loop if the count is, or all direct calls of a function that is nothing else.
    pub sites: Vec<Svma>,
    /// Whether it is next to the instruction, as the other side of a check. That is in the same function, in all its
    /// callers, or chosen by an ifunc resolver. Or it is chosen without a direct call, itself or its callers, in a file
    /// that checks.
    pub is_fallback: bool,
}

/// How a function counts bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PopcountKind {
    /// It is nothing else, counts so many bits, and is called from so many places directly.
    Body(u8, u64),
    /// Among other things, of so many bits.
    InLine(u8),
    /// By so many calls of the compiler's library in another file.
    Call(&'static str, u64),
}

/// Where else a file has the instruction.
#[derive(Debug, Clone, Copy)]
pub struct Elsewhere {
    /// Guarded by checks.
    pub checks: bool,
    /// Guarded by checks, or where it is not known what leads there.
    pub anywhere: bool,
    /// So, in a function that is hardly more.
    pub alone: bool,
}

/// Finds them, by address. `resolvers`: where ifunc resolvers begin.
pub fn popcounts(
    image: &Image<'_>,
    program: &Program,
    elsewhere: Elsewhere,
    resolvers: impl Iterator<Item = Svma>,
) -> Vec<Popcount> {
    let bodies: Vec<(&Function, Shape)> = candidates(image, program)
        .into_iter()
        .filter_map(|(function, at)| Some((function, shape(image, program, function, at)?)))
        .collect();
    let calls = foreign_calls(image, program);
    if bodies.is_empty() && calls.is_empty() {
        return Vec::new();
    }
    let users = instruction_users(image, program);
    let chosen =
        if elsewhere.anywhere { chosen_functions(image, program, resolvers) } else { FxHashSet::default() };
    let has_instruction = |start: CodeOffset| users.contains(&start) || chosen.contains(&start);
    // Of what only counts among other things, callers matter for a choice alone.
    let may_be_chosen = elsewhere.checks || !users.is_empty() || !chosen.is_empty();
    let called = bodies.iter().filter(|(_, shape)| shape.is_body || may_be_chosen);
    let callers = callers(program, called.map(|(function, _)| function.start));
    let uncalled = if elsewhere.checks {
        uncalled(program, callers.values().flatten().map(|(_, caller)| *caller))
    } else {
        BTreeSet::new()
    };
    let mut found: Vec<Popcount> = Vec::new();
    for (function, shape) in bodies {
        let start = program.whole(function).start;
        let callers = callers.get(&function.start).map(Vec::as_slice).unwrap_or_default();
        let is_chosen = if callers.is_empty() {
            elsewhere.checks || elsewhere.alone && shape.is_body
        } else {
            callers.iter().all(|&(_, caller)| has_instruction(caller) || uncalled.contains(&caller))
        };
        let is_fallback = is_chosen || has_instruction(start);
        let (kind, sites) = if shape.is_body {
            let sites = callers.iter().map(|(from, _)| image.svma(*from)).collect();
            (PopcountKind::Body(shape.bits, callers.len() as u64), sites)
        } else {
            (PopcountKind::InLine(shape.bits), shape.sites)
        };
        found.push(Popcount { at: shape.at, kind, sites, is_fallback });
    }
    for (start, (at, name, sites)) in calls {
        let is_fallback = has_instruction(start);
        let kind = PopcountKind::Call(name, sites.len() as u64);
        found.push(Popcount { at, kind, sites, is_fallback });
    }
    found.sort_by_key(|popcount| popcount.at);
    found
}

/// Which calls and jumps lead to some functions, each with the function that it is in.
fn callers(
    program: &Program,
    functions: impl Iterator<Item = CodeOffset>,
) -> BTreeMap<CodeOffset, Vec<(CodeOffset, CodeOffset)>> {
    /// Bits of an offset within a page.
    const PAGE: u32 = 12;
    let mut callers: BTreeMap<CodeOffset, Vec<_>> = functions.map(|at| (at, Vec::new())).collect();
    // Nearly every call leads to a page without any of them.
    let mut pages: Vec<bool> = Vec::new();
    for start in callers.keys() {
        pages.resize((start.0 >> PAGE) as usize + 1, false);
        pages.last_mut().into_iter().for_each(|page| *page = true);
    }
    for edge in program.calls().chain(program.jumps()) {
        if pages.get((edge.to.0 >> PAGE) as usize) == Some(&true)
            && let Some(callers) = callers.get_mut(&edge.to)
        {
            let caller = program.function_at(edge.from).map(|caller| program.whole(caller).start);
            callers.extend(caller.map(|caller| (edge.from, caller)));
        }
    }
    callers
}

/// Those of some functions that nothing calls directly: what a pointer or a resolver chooses, where a file chooses.
fn uncalled(program: &Program, functions: impl Iterator<Item = CodeOffset>) -> BTreeSet<CodeOffset> {
    let mut uncalled: BTreeSet<CodeOffset> = functions.collect();
    for edge in program.calls().chain(program.jumps()) {
        uncalled.remove(&edge.to);
    }
    uncalled
}

/// The functions with the first mask, and where it is in each.
fn candidates<'p>(image: &Image<'_>, program: &'p Program) -> Vec<(&'p Function, Svma)> {
    /// Instructions of A64 that are examined together.
    const BLOCK: usize = 64;
    let mut found: BTreeMap<CodeOffset, (&Function, Svma)> = BTreeMap::new();
    let mut note = |svma: Svma| {
        let Some(at) = image.code_offset(svma).filter(|&at| !program.is_data(at)) else { return };
        if let Some(function) = program.function_at(at) {
            found.entry(function.start).or_insert((function, svma));
        }
    };
    for code in &image.code {
        let svma = |at: usize| code.extent.start.offset(i64::try_from(at).unwrap_or(i64::MAX));
        match image.arch {
            Arch::X86_64 => memmem::find_iter(code.bytes, &[0x55; 4]).for_each(|at| note(svma(at))),
            Arch::Aarch64 => {
                // and w0, w0, #0x55555555 of all widths and with all operations, mov among them.
                let is_mask = |word: &[u8; 4]| u32::from_le_bytes(*word) & 0x1fff_fc00 == 0x1200_f000;
                let blocks = code.bytes.as_chunks::<4>().0.chunks(BLOCK);
                for (words, first) in blocks.zip((0..).step_by(BLOCK)) {
                    if words.iter().fold(false, |any, word| any | is_mask(word)) {
                        let places = (first..).zip(words).filter(|(_, word)| is_mask(word));
                        places.for_each(|(index, _)| note(svma(index * 4)));
                    }
                }
            }
        }
    }
    let has_masks = |(function, _): &(&Function, Svma)| {
        image.bytes_at(function.extent(image).start).is_some_and(|code| {
            let length = (function.end - function.start) as usize;
            has_masks(image.arch, code.get(..length).unwrap_or(code))
        })
    };
    found.into_values().filter(has_masks).collect()
}

/// Whether code may hold the second and the third mask: most that only has the first counts nothing.
fn has_masks(arch: Arch, code: &[u8]) -> bool {
    match arch {
        Arch::X86_64 => [0x33u8, 0x0f].iter().all(|&byte| memmem::find(code, &[byte; 4]).is_some()),
        // The same field for 0x33333333 and 0x0f0f0f0f as for 0x55555555.
        Arch::Aarch64 => [0x1200_e400u32, 0x1200_cc00].iter().all(|&mask| {
            let words = code.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
            words.map(|word| word & 0x1fff_fc00).any(|word| word == mask)
        }),
    }
}

/// A count in one function.
struct Shape {
    at: Extent,
    bits: u8,
    is_body: bool,
    /// Its first mask, which may be made before a loop, and the shifts that end it.
    sites: Vec<Svma>,
}

/// Whether a function counts bits, by its constants.
fn shape(image: &Image<'_>, program: &Program, function: &Function, around: Svma) -> Option<Shape> {
    if let Some(shape) = long_shape(image, program, function) {
        return Some(shape);
    }
    let graph = Graph::of(image, program, function, around);
    let insns: Vec<&Insn> = graph.blocks.iter().flat_map(|block| &block.insns).collect();
    let useful = insns.iter().filter(|insn| insn.class != insn::Class::Hint);
    let is_straight = !insns.iter().any(|insn| match insn.flow {
        Flow::Call(_) | Flow::IndirectCall | Flow::IndirectJump => true,
        Flow::Jump(to) | Flow::Branch(to) => to <= insn.svma,
        _ => false,
    });
    shape_of(&insns, &insns, is_straight && useful.count() <= BODY)
}

/// What instructions count, those of a whole function or all that matter of them. `from_masks`: the runs that begin
/// with a first mask.
fn shape_of(insns: &[&Insn], from_masks: &[&Insn], is_body: bool) -> Option<Shape> {
    let bits = [64u8, 32].into_iter().find(|&bits| {
        counts(insns, bits, is_body) && is_summed(from_masks) && !only_swaps(from_masks, bits)
    })?;
    let first = insns.iter().find(|insn| has(insn, 0x5555_5555_5555_5555, bits))?;
    let sums = insns.iter().enumerate().filter(|(index, insn)| ends_sum(insns, *index, insn, bits));
    let sites = sums.map(|(_, insn)| insn.svma).chain([first.svma]).collect();
    Some(Shape { at: Extent { start: first.svma, end: first.next() }, bits, is_body, sites })
}

/// Whether a long function of x86-64 counts bits among other things: of most of it only the lengths of the instructions
/// are decoded. `None` as well where that does not suffice.
fn long_shape(image: &Image<'_>, program: &Program, function: &Function) -> Option<Shape> {
    /// Bytes that a function has at least which does something else, too.
    const LONG: u64 = 16 * BODY as u64;
    /// Instructions from one with the first mask to an addition or a subtraction.
    const NEAR: usize = 16;
    let extent = function.extent(image);
    let is_whole = !program.data().iter().any(|data| data.start < function.end && function.start < data.end);
    if image.arch != Arch::X86_64 || !is_whole || !(LONG..=block::LARGEST).contains(&extent.len()) {
        return None;
    }
    let code = image.bytes_at(extent.start)?.get(..usize::try_from(extent.len()).ok()?)?;
    let masks = [0x55u8, 0x33, 0x0f, 0x01].map(|byte| [byte; 4]);
    let masks = masks.iter().flat_map(|mask| memmem::find_iter(code, mask).collect::<Vec<usize>>());
    // shr with a number: C0 or C1 /5
    let is_shift = |pair: &[u8]| matches!(pair, [0xc0 | 0xc1, operands] if operands >> 3 & 7 == 5);
    let shifts = code.windows(2).enumerate().filter(|(_, pair)| is_shift(pair)).map(|(at, _)| at);
    let mut places: Vec<Svma> =
        masks.chain(shifts).filter_map(|at| Some(extent.start.offset(i64::try_from(at).ok()?))).collect();
    places.sort_unstable();
    let insns = insn::x86_64::decode_holding(code, extent.start, &places);
    let has_first = |insn: &&Insn| [64, 32].iter().any(|&bits| has(insn, 0x5555_5555_5555_5555, bits));
    let from_mask =
        |first: &Insn| block::decode_run(image, program, Extent { start: first.svma, ..extent }).take(NEAR);
    let from_masks: Vec<Insn> = insns.iter().filter(has_first).flat_map(from_mask).collect();
    shape_of(&insns.iter().collect::<Vec<_>>(), &from_masks.iter().collect::<Vec<_>>(), false)
}

/// Whether the constant of an instruction is a mask, cut to a width.
fn has(insn: &Insn, mask: u64, bits: u8) -> bool {
    let all = if bits == 64 { u64::MAX } else { u64::from(u32::MAX) };
    let is_wide = bits == 32 || insn.width == 8;
    is_wide && insn.imm.is_some_and(|imm| imm as u64 & all == mask & all && (bits == 64 || is_half(imm)))
}

/// Whether a constant has 32 bits.
const fn is_half(imm: i64) -> bool {
    imm >= i32::MIN as i64 && imm <= u32::MAX as i64
}

/// Whether code has all the constants of a count of so many bits: the three masks, and what sums the bytes up. That is
/// a multiplication whose highest byte is taken. In a function that is nothing else it may be shifts and the mask of
/// the sum. (DES has all of the latter, too, among other things.)
fn counts(insns: &[&Insn], bits: u8, is_body: bool) -> bool {
    let has = |mask: u64| insns.iter().any(|insn| has(insn, mask, bits));
    let shifts =
        |by: i64| insns.iter().any(|insn| insn.operation == Operation::ShiftRight && insn.imm == Some(by));
    let masks =
        |mask: i64| insns.iter().any(|insn| insn.operation == Operation::And && insn.imm == Some(mask));
    has(0x5555_5555_5555_5555)
        && has(0x3333_3333_3333_3333)
        && has(0x0f0f_0f0f_0f0f_0f0f)
        && (has(0x0101_0101_0101_0101) && shifts(i64::from(bits) - 8)
            || is_body && [0x3f, 0x7f].into_iter().any(masks) && shifts(8) && shifts(16))
}

/// Whether an instruction takes the highest byte of a product: what was multiplied has no name among operations.
fn ends_sum(insns: &[&Insn], index: usize, insn: &Insn, bits: u8) -> bool {
    /// Maximum number of instructions between the two.
    const NEAR: usize = 4;
    let is_shift = insn.operation == Operation::ShiftRight && insn.imm == Some(i64::from(bits) - 8);
    let mut before = insns.get(index.saturating_sub(NEAR)..index).unwrap_or_default().iter().rev();
    let source = insn.src.iter().flatten().next();
    let made = source.and_then(|&reg| before.find(|insn| insn.writes.contains(reg)));
    is_shift && made.is_some_and(|made| made.operation == Operation::Other)
}

/// Whether anything is added up, or taken off.
fn is_summed(insns: &[&Insn]) -> bool {
    insns.iter().any(|insn| matches!(insn.operation, Operation::Sub | Operation::Add))
}

/// Whether what the first mask leaves is only swapped, by exclusive ors, and never summed: permutations, as in DES.
fn only_swaps(insns: &[&Insn], bits: u8) -> bool {
    /// Maximum number of instructions between the two.
    const NEAR: usize = 8;
    let is_mask = |insn: &Insn| has(insn, 0x5555_5555_5555_5555, bits);
    let held = insns.iter().filter(|insn| insn.operation == Operation::Move && is_mask(insn));
    let held: BTreeSet<Reg> = held.filter_map(|insn| insn.dst).collect();
    let masks = |insn: &Insn| {
        insn.operation == Operation::And
            && (is_mask(insn) || insn.src.iter().flatten().any(|reg| held.contains(reg)))
    };
    let adds_up = |(index, masked): (usize, &&Insn)| {
        let after = insns.get(index + 1..).unwrap_or_default().iter().take(NEAR);
        let mut sums = after
            .filter(|insn| matches!(insn.operation, Operation::Add | Operation::Sub | Operation::Address));
        masked.dst.is_some_and(|dst| sums.any(|insn| insn.reads.contains(dst)))
    };
    let mut masked = insns.iter().enumerate().filter(|(_, insn)| masks(insn)).peekable();
    masked.peek().is_some() && !masked.any(adds_up)
}

/// The functions that have the instruction.
fn instruction_users(image: &Image<'_>, program: &Program) -> BTreeSet<CodeOffset> {
    let has_it = |group| {
        let features = insn::features_of(image.arch, group);
        features.contains(Feature::POPCNT) || features.contains(Feature::FEAT_CSSC)
    };
    let users = program.hits_by_function().filter(|(_, hits)| hits.iter().any(|hit| has_it(hit.group)));
    users.filter_map(|(function, _)| Some(program.whole(function?).start)).collect()
}

/// By function, the first call of the compiler's library in another file, its name, and all calls.
fn foreign_calls(
    image: &Image<'_>,
    program: &Program,
) -> BTreeMap<CodeOffset, (Extent, &'static str, Vec<Svma>)> {
    let name_of = |name: &str| NAMES.into_iter().find(|&known| known == name);
    let entries = image.symbols.iter().filter(|symbol| symbol.origin == SymbolOrigin::Plt);
    let stubs: BTreeMap<CodeOffset, &'static str> = entries
        .filter_map(|symbol| {
            Some((image.code_offset(symbol.svma)?, name_of(symbol.name.strip_suffix("@plt")?)?))
        })
        .collect();
    let mut calls: Vec<(Svma, &'static str)> = Vec::new();
    if !stubs.is_empty() {
        let edges = program.calls().chain(program.jumps());
        calls.extend(edges.filter_map(|edge| Some((image.svma(edge.from), *stubs.get(&edge.to)?))));
    }
    calls.extend(image.transfers.iter().filter_map(|transfer| match transfer.to {
        TransferTarget::Elsewhere(name) => Some((transfer.from, name_of(name)?)),
        TransferTarget::Here(_) => None,
    }));
    calls.sort_unstable();
    let mut by_function: BTreeMap<CodeOffset, (Extent, &'static str, Vec<Svma>)> = BTreeMap::new();
    for (from, name) in calls {
        let function = image.code_offset(from).and_then(|at| program.function_at(at));
        let call = image.bytes_at(from).and_then(|code| insn::decode(image.arch, code, from));
        let (Some(function), Some(call)) = (function, call) else { continue };
        let at = Extent { start: from, end: call.next() };
        by_function.entry(program.whole(function).start).or_insert((at, name, Vec::new())).2.push(from);
    }
    by_function
}

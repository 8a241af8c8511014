//! Patch stage, audit: whether a function is an outlined helper of libgcc, compiler-rt or Rust, by all that
//! it does.
//!
//! In: a graph, and a function that is called. Out: the LSE instruction that is all it does where the CPU has
//! LSE. It tests one byte; this one is written by nothing but a constructor, from AT_HWCAP; the other arm is
//! evaluated to be the same operation on the same operands; and a name does not say otherwise. In which order
//! the other arm accesses memory does not matter: on a CPU with LSE it never runs.

use super::evaluate::{Evaluator, Manner, Need, Program};
use super::fields::{self, Flow};
use super::graph::Graph;
use deburr_core::address::CodeOffset;
use deburr_core::address::Svma;
use rayon::prelude::*;
use std::collections::HashMap;

const BTI_C: u32 = 0xd503_245f;
const RET: u32 = 0xd65f_03c0;
const BR_X16: u32 = 0xd61f_0200;
/// Instructions of the longest fallback.
const LONGEST: usize = 14;
/// x15 to x17, which a helper may overwrite.
const SCRATCH: u32 = 1 << 15 | 1 << 16 | 1 << 17;
/// Instructions of a constructor that are looked at before its store.
const CONSTRUCTOR: u32 = 48;

/// Why a function is no helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoHelper {
    /// It is not written as helpers are.
    Shape,
    /// What it tests is not what a constructor writes from AT_HWCAP, or something else writes there too.
    Flag(Svma),
    /// Its other arm does something else.
    Fallback,
    /// Its name says that it does something else.
    Name,
}

/// The body of what looks like a helper.
struct Body {
    start: CodeOffset,
    flag: u64,
    lse: u32,
    /// Where its other arm begins.
    fallback: CodeOffset,
}

/// What is known of the functions that are called as helpers.
pub(crate) struct Helpers {
    /// The LSE instruction of each, or why there is none.
    known: HashMap<CodeOffset, Result<u32, NoHelper>>,
}

impl Helpers {
    /// Looks at some functions.
    pub(crate) fn of(graph: &Graph<'_>, evaluator: &Evaluator, mut called: Vec<CodeOffset>) -> Helpers {
        called.sort_unstable();
        called.dedup();
        let bodies: Vec<(CodeOffset, Option<Body>)> =
            called.into_iter().map(|at| (at, body(graph, at))).collect();
        let mut flags: Vec<u64> =
            bodies.iter().filter_map(|(_, body)| body.as_ref().map(|body| body.flag)).collect();
        flags.sort_unstable();
        flags.dedup();
        let is_from_hwcap = written_from_hwcap(graph, &flags);
        let judge = |body: &Body| {
            if !is_from_hwcap.get(&body.flag).copied().unwrap_or(false) {
                Err(NoHelper::Flag(Svma(body.flag)))
            } else if !is_named(graph, body.start, body.lse) {
                Err(NoHelper::Name)
            } else if !falls_back(graph, evaluator, body) {
                Err(NoHelper::Fallback)
            } else {
                Ok(body.lse)
            }
        };
        let known = bodies.into_par_iter().map(|(at, body)| {
            let judged = body.as_ref().ok_or(NoHelper::Shape).and_then(judge);
            (at, judged)
        });
        Helpers { known: known.collect() }
    }

    /// The instruction that a call of a function may become.
    pub(crate) fn instruction(&self, at: CodeOffset) -> Result<u32, NoHelper> {
        self.known.get(&at).copied().unwrap_or(Err(NoHelper::Shape))
    }
}

/// Reads a function as a helper: `adrp x16; ldrb w16, [x16, #low]; cbz w16, fallback; lse; ret`; from a
/// linker's veneer on, where one leads to it.
fn body(graph: &Graph<'_>, called: CodeOffset) -> Option<Body> {
    let start = veneer_target(graph, called).unwrap_or(called);
    let first = if graph.word(start)? == BTI_C { graph.offset(start, 4)? } else { start };
    body_at(graph, start, first)
}

/// Where a veneer leads: `adrp x16; add x16, x16, #low; br x16`.
fn veneer_target(graph: &Graph<'_>, start: CodeOffset) -> Option<CodeOffset> {
    let word = |index: i64| graph.offset(start, 4 * index).and_then(|at| graph.word(at));
    let (adrp, add, br) = (word(0)?, word(1)?, word(2)?);
    let page = fields::address(adrp, graph.svma(start).0).filter(|_| adrp & 0x9f00_001f == 0x9000_0010)?;
    let is_veneer = add & 0xffc0_03ff == 0x9100_0210 && br == BR_X16;
    graph.at(Svma(page.wrapping_add(u64::from(add >> 10 & 0xfff)))).filter(|_| is_veneer)
}

/// The body that begins at a place, after what may mark a function's start.
fn body_at(graph: &Graph<'_>, function: CodeOffset, start: CodeOffset) -> Option<Body> {
    let word = |index: i64| graph.offset(start, 4 * index).and_then(|at| graph.word(at));
    let (adrp, ldrb, cbz, lse, ret) = (word(0)?, word(1)?, word(2)?, word(3)?, word(4)?);
    let page = fields::address(adrp, graph.svma(start).0).filter(|_| adrp & 0x9f00_001f == 0x9000_0010)?;
    let is_helper = ldrb & 0xffc0_03ff == 0x3940_0210 && cbz & 0xff00_001f == 0x3400_0010 && ret == RET;
    let Flow::Branch(to) = fields::flow(cbz) else { return None };
    let fallback = graph.offset(graph.offset(start, 8)?, to)?;
    let flag = page.wrapping_add(u64::from(ldrb >> 10 & 0xfff));
    is_helper.then_some(Body { start: function, flag, lse, fallback })
}

/// Whether the other arm does what the LSE instruction does.
fn falls_back(graph: &Graph<'_>, evaluator: &Evaluator, body: &Body) -> bool {
    let mut words = Vec::new();
    let mut at = body.fallback;
    loop {
        let Some(word) = graph.word(at).filter(|_| words.len() <= LONGEST) else { return false };
        if word == RET {
            break;
        }
        words.push(word);
        let Some(next) = graph.offset(at, 4) else { return false };
        at = next;
    }
    let length = words.len();
    let programs = [Program::new(&words, 0, length), Program::new(&[body.lse], 0, 1)];
    let [Ok(old), Ok(new)] = programs else { return false };
    let needs = evaluator.evaluate([old, new], Manner::Arms, &[], length);
    let is_scratch = |need: &Need| need.exit == length as i64 && need.registers & !SCRATCH == 0;
    needs.is_ok_and(|needs| needs.iter().all(is_scratch))
}

/// The name that libgcc has for an LSE instruction, without its order.
fn name(lse: u32) -> Option<String> {
    let size = 1 << (lse >> 30);
    if lse & 0x3f00_0000 == 0x0800_0000 {
        // casp has bit 23 clear, and two sizes of registers.
        let pair = if lse & 1 << 30 == 0 { 8 } else { 16 };
        return Some(format!("cas{}_", if lse & 1 << 23 == 0 { pair } else { size }));
    }
    let operation = match lse >> 12 & 15 {
        0 => "ldadd",
        1 => "ldclr",
        2 => "ldeor",
        3 => "ldset",
        8 => "swp",
        _ => return None,
    };
    Some(format!("{operation}{size}_"))
}

/// Whether no symbol at a function contradicts what it does.
fn is_named(graph: &Graph<'_>, at: CodeOffset, lse: u32) -> bool {
    let Some(name) = name(lse) else { return false };
    let name = format!("__aarch64_{name}");
    let at = graph.svma(at);
    let symbols = &graph.image.symbols;
    let from = symbols.partition_point(|symbol| symbol.svma < at);
    let here = symbols.get(from..).unwrap_or_default().iter().take_while(|symbol| symbol.svma == at);
    here.filter(|symbol| !symbol.name.starts_with('$')).all(|symbol| symbol.name.contains(&name))
}

/// Which bytes only constructors write, and those from bit 8 (HWCAP_ATOMICS) of `getauxval(AT_HWCAP)`.
fn written_from_hwcap(graph: &Graph<'_>, flags: &[u64]) -> HashMap<u64, bool> {
    let mut writes: HashMap<u64, Vec<CodeOffset>> = HashMap::new();
    if flags.is_empty() {
        return HashMap::new();
    }
    for at in graph.find(is_address_of_page) {
        for (flag, store) in uses(graph, at, flags) {
            writes.entry(flag).or_default().push(store);
        }
    }
    let judge = |flag: &u64| {
        let stores = writes.get(flag).map_or(&[][..], |stores| stores.as_slice());
        (*flag, !stores.is_empty() && stores.iter().all(|at| is_of_constructor(graph, *at)))
    };
    flags.iter().map(judge).collect()
}

const fn is_address_of_page(word: u32) -> bool {
    word & 0x9f00_0000 == 0x9000_0000
}

/// What is done with flags on whose page an `adrp` is: all but a plain load of a byte is taken for a write.
fn uses(graph: &Graph<'_>, adrp: CodeOffset, flags: &[u64]) -> Vec<(u64, CodeOffset)> {
    /// Instructions after an `adrp` that may use it.
    const NEAR: u32 = 64;
    let Some(word) = graph.word(adrp) else { return Vec::new() };
    let Some(page) = fields::address(word, graph.svma(adrp).0) else { return Vec::new() };
    let from = flags.partition_point(|flag| *flag < page);
    let on_page: Vec<u64> = flags
        .get(from..)
        .unwrap_or_default()
        .iter()
        .copied()
        .take_while(|flag| flag - page < 0x1000)
        .collect();
    if on_page.is_empty() {
        return Vec::new();
    }
    let register = word & 31;
    let mut found = Vec::new();
    for at in (1..NEAR).map(|index| adrp.saturating_add(4 * index)) {
        let Some(word) = graph.word(at) else { break };
        let low = u64::from(word >> 10 & 0xfff);
        let is_based = word >> 5 & 31 == register;
        // ldrb is harmless; strb writes; add may be followed by anything.
        let is_write = word & 0xffc0_0000 == 0x3900_0000 || word & 0xffc0_0000 == 0x9100_0000;
        found.extend(
            on_page
                .iter()
                .filter(|flag| is_based && is_write && **flag - page == low)
                .map(|flag| (*flag, at)),
        );
        if fields::registers(word).kills >> register & 1 != 0 && word & 31 == register {
            break;
        }
    }
    found
}

/// Whether a store of a byte is that of a constructor that got it from AT_HWCAP.
fn is_of_constructor(graph: &Graph<'_>, store: CodeOffset) -> bool {
    const ATOMICS: u32 = 8;
    let word_at = |at: CodeOffset| graph.word(at).unwrap_or(0);
    let is_store = word_at(store) & 0xffc0_0000 == 0x3900_0000;
    let before = || (1..=CONSTRUCTOR).map_while(|back| store.checked_sub(4 * back));
    // movz w0 or x0, #16: AT_HWCAP; and then a call.
    let named = before().find(|at| matches!(word_at(*at), 0x5280_0200 | 0xd280_0200));
    let Some(named) = named.filter(|_| is_store) else { return false };
    let since = || named.words_until(store).map(word_at);
    let calls = since().filter(|word| matches!(fields::flow(*word), Flow::Call(_) | Flow::IndirectCall));
    let goes_on = |word| {
        matches!(fields::flow(word), Flow::Next | Flow::Branch(_) | Flow::Call(_) | Flow::IndirectCall)
    };
    if !since().all(goes_on) {
        return false;
    }
    // ubfx #8, #1; tst or and with 0x100; tbz or tbnz of bit 8; lsr #8.
    let tests = |word: u32| {
        let is_field = word & 0x7fbf_fc00 == 0x5308_2000 || word & 0xffff_fc00 == 0xd348_2000;
        let is_mask = word & 0x1fbf_fc00 == 0x1218_0000;
        let is_bit = word & 0x7ef8_0000 == 0x3640_0000 && word >> 31 == 0 && ATOMICS == word >> 19 & 31;
        let is_shift = word & 0x7fbf_0000 == 0x5308_0000 && matches!(word >> 10 & 63, 31 | 63);
        is_field || is_mask || is_bit || is_shift
    };
    calls.count() == 1 && since().any(tests) && runs_first(graph, named)
}

/// Whether the loader, or nothing but a function that the loader calls, runs the function around a place.
fn runs_first(graph: &Graph<'_>, at: CodeOffset) -> bool {
    let first = |from: CodeOffset| {
        (0..=CONSTRUCTOR)
            .map_while(|back| from.checked_sub(4 * back))
            .find(|at| graph.is_exposed(*at) || graph.calls(*at).next().is_some())
    };
    let is_called_by_loader = |at: CodeOffset| graph.image.entries.binary_search(&graph.svma(at)).is_ok();
    first(at).is_some_and(|start| {
        is_called_by_loader(start)
            || graph.calls(start).all(|call| first(call).is_some_and(is_called_by_loader))
    })
}

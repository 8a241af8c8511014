//! How the compiler made each function: facts to compare two functions, or two builds, by.
//!
//! In: a [`Program`]. Out: [`FunctionFacts`] of every whole function, its split-off parts included: length, the widest
//! vectors, how its atomics came out, whom it calls, which features it needs. Everything is decoded again, so this is
//! for callers that need all of it.

use super::atomics::Atomics;
use super::{Function, Program};
use crate::address::CodeOffset;
use crate::image::{Image, TransferTarget};
use crate::insn::vector::VectorWidth;
use crate::insn::vector_use;
use crate::insn::{self, Class};
use deburr_cpu::{Arch, FeatureSet};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// How a function's atomics came out, in numbers of instructions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AtomicUses {
    /// Load-exclusives.
    pub exclusive: u64,
    /// Single-instruction atomics of FEAT_LSE.
    pub lse: u64,
    /// Calls of outlined helpers.
    pub outlined: u64,
    /// x86-64's `lock`, and `xchg` with memory.
    pub locked: u64,
}

impl AtomicUses {
    /// The kinds that occur: `LL/SC + outlined`; `none`.
    pub fn kinds(self) -> String {
        let kinds = [
            (self.exclusive, "LL/SC"),
            (self.lse, "LSE"),
            (self.outlined, "outlined"),
            (self.locked, "locked"),
        ];
        let kinds: Vec<&str> =
            kinds.into_iter().filter(|(count, _)| *count > 0).map(|(_, name)| name).collect();
        if kinds.is_empty() { "none".to_owned() } else { kinds.join(" + ") }
    }

    /// The counts of both.
    #[must_use]
    pub const fn plus(self, other: AtomicUses) -> AtomicUses {
        AtomicUses {
            exclusive: self.exclusive + other.exclusive,
            lse: self.lse + other.lse,
            outlined: self.outlined + other.outlined,
            locked: self.locked + other.locked,
        }
    }
}

/// Whom a call leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Callee<'a> {
    /// A function of this file, by where it begins.
    Here(CodeOffset),
    /// A symbol of another file.
    Elsewhere(&'a str),
}

/// How the compiler made one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionFacts<'a> {
    /// The function.
    pub function: Function,
    /// Its length in bytes, parts included.
    pub size: u64,
    /// Its instructions.
    pub instructions: u64,
    /// The widest vectors that it computes with.
    pub computes: VectorWidth,
    /// The widest vectors that it moves.
    pub moves: VectorWidth,
    /// Its instructions that compute with vectors of 128 bits and more.
    pub vector_instructions: u64,
    /// How its atomics came out.
    pub atomics: AtomicUses,
    /// Direct calls, and jumps to other functions, by callee; calls of itself are left out.
    pub calls: BTreeMap<Callee<'a>, u64>,
    /// The features that it needs, those of the first level included.
    pub features: FeatureSet,
}

/// The facts of all whole functions, by address. `atomics`: as found in the same program; without the marks it needs,
/// calls of helpers count as any others.
pub fn function_facts<'a>(
    image: &'a Image<'_>,
    program: &Program,
    atomics: &Atomics,
) -> Vec<FunctionFacts<'a>> {
    let helper_calls: BTreeSet<_> = atomics.calls.iter().map(|call| call.from).collect();
    let mut parts: BTreeMap<CodeOffset, Vec<&Function>> = BTreeMap::new();
    for function in program.functions() {
        parts.entry(program.whole(function).start).or_default().push(function);
    }
    let parts: Vec<(CodeOffset, Vec<&Function>)> = parts.into_iter().collect();
    let of = |(start, parts): &(CodeOffset, Vec<&Function>)| {
        let whole = program.function_from(*start).copied()?;
        let mut facts = FunctionFacts {
            function: whole,
            size: 0,
            instructions: 0,
            computes: VectorWidth::None,
            moves: VectorWidth::None,
            vector_instructions: 0,
            atomics: AtomicUses::default(),
            calls: BTreeMap::new(),
            features: FeatureSet::EMPTY,
        };
        for part in parts {
            facts.add(image, program, part, &|svma| helper_calls.contains(&svma));
        }
        Some(facts)
    };
    parts.par_iter().filter_map(of).collect()
}

impl<'a> FunctionFacts<'a> {
    fn add(
        &mut self,
        image: &'a Image<'_>,
        program: &Program,
        part: &Function,
        is_helper_call: &dyn Fn(crate::Svma) -> bool,
    ) {
        let extent = part.extent(image);
        self.size += extent.len();
        let mut at = extent.start;
        while at < extent.end {
            let is_data = image.code_offset(at).is_none_or(|offset| program.is_data(offset));
            let code = image.bytes_at(at).unwrap_or_default();
            let Some(insn) = insn::decode(image.arch, code, at).filter(|_| !is_data) else {
                at = at.offset(if image.arch == Arch::Aarch64 { 4 } else { 1 });
                continue;
            };
            self.instructions += 1;
            self.features = self.features.union(insn::features_of(image.arch, insn.features));
            let vector = vector_use(image.arch, code);
            let widest = if vector.computes { &mut self.computes } else { &mut self.moves };
            *widest = vector.width.max(*widest);
            let is_packed = vector.computes && vector.width >= VectorWidth::Bits128;
            self.vector_instructions += u64::from(is_packed);
            match insn.class {
                Class::LoadExclusive => self.atomics.exclusive += 1,
                Class::LseAtomic => self.atomics.lse += 1,
                Class::LockedAtomic => self.atomics.locked += 1,
                _ => {}
            }
            self.atomics.outlined += u64::from(is_helper_call(at));
            if let Some(callee) = self.callee(image, program, at, insn.flow.target()) {
                *self.calls.entry(callee).or_default() += 1;
            }
            at = insn.next();
        }
    }

    /// The function that a transfer leads to, if it begins there and is another one.
    fn callee(
        &self,
        image: &'a Image<'_>,
        program: &Program,
        at: crate::Svma,
        target: Option<crate::Svma>,
    ) -> Option<Callee<'a>> {
        let filled_in = image.transfers.binary_search_by_key(&at, |transfer| transfer.from).ok();
        let target = match filled_in.and_then(|at| image.transfers.get(at)).map(|transfer| &transfer.to) {
            Some(TransferTarget::Elsewhere(name)) => return Some(Callee::Elsewhere(name)),
            Some(TransferTarget::Here(svma)) => *svma,
            None => target?,
        };
        let callee = program.function_from(image.code_offset(target)?)?;
        let is_other = !callee.is_part() && callee.start != self.function.start;
        is_other.then_some(Callee::Here(callee.start))
    }
}

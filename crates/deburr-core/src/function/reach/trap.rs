//! Programs that run an instruction to see whether the CPU has it, and catch the signal where it has not.
//!
//! In: the calls of a function. Out: whether an instruction that the CPU lacks would be survived, and what is proven
//! where it was there after all. Survived is what runs between a handler of SIGILL and the return to its former one, and
//! after a `sigsetjmp` that the handler jumps back to (POSIX.1-2017, `signal.h` and `setjmp.h`; SIGILL is 4, signal(7)).

use super::World;
use super::learn::callers_by_name;
use super::names;
use super::proof::Proof;
use super::state::State;
use crate::Svma;
use crate::address::CodeOffset;
use crate::function::Function;
use crate::insn::{self, Insn};
use deburr_cpu::{Arch, Feature, FeatureSet};
use memchr::memmem;
use std::collections::BTreeSet;

const SIGILL: u64 = 4;
/// `SIG_DFL` and `SIG_IGN`.
const NO_HANDLERS: [u64; 2] = [0, 1];
/// Bytes of a function at most that tries instructions.
const TRIES: u32 = 4096;
/// Bytes of a function at most that is called to try its instructions.
const PROBE: u32 = 1024;

/// What happens where the CPU lacks an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Trap {
    /// The program ends.
    #[default]
    Deadly,
    /// It comes into a handler.
    Caught,
    /// The handler comes back to here.
    Survived,
}

/// Whether a function of this name has a part in it.
pub(super) fn is_told(name: &str) -> bool {
    name == "sigaction" || is_return_point(name)
}

fn is_return_point(name: &str) -> bool {
    matches!(name, "setjmp" | "_setjmp" | "sigsetjmp" | "__sigsetjmp")
}

/// Functions that name SIGILL and a place for its handler to come back to.
pub(super) fn functions(world: &World<'_, '_>) -> BTreeSet<CodeOffset> {
    // mov edi, 4; mov w0, #4
    let names_signal: &[u8] = match world.image.arch {
        Arch::X86_64 => &[0xbf, 4, 0, 0, 0],
        Arch::Aarch64 => &[0x80, 0, 0x80, 0x52],
    };
    let is_probing = |start: &CodeOffset| {
        let function = world.whole_at(*start).filter(|function| function.end - function.start <= TRIES);
        let code = function.and_then(|function| {
            let length = (function.end - function.start) as usize;
            world.image.bytes_at(world.image.svma(function.start))?.get(..length)
        });
        code.is_some_and(|code| memmem::find(code, names_signal).is_some())
    };
    callers_by_name(world, is_return_point).into_iter().filter(is_probing).collect()
}

/// What a call makes of it. `name`: the callee's, as far as it tells something.
pub(super) fn after_call(world: &World<'_, '_>, name: Option<&str>, state: &State) -> Trap {
    if name.is_some_and(is_return_point) {
        return if state.trap == Trap::Deadly { Trap::Deadly } else { Trap::Survived };
    }
    let argument = |number: usize| {
        names::arguments(world.image.arch).get(number).and_then(|&reg| state.read(reg).as_constant())
    };
    if argument(0).map(|signal| signal & 0xffff_ffff) != Some(SIGILL) {
        return state.trap;
    }
    let (second, third) = (argument(1), argument(2));
    match name {
        Some("sigaction") if second == Some(0) => state.trap,
        // Nobody asks for the handler that the program itself has set: the former one comes back.
        Some("sigaction") if third == Some(0) && state.trap != Trap::Deadly => Trap::Deadly,
        Some("sigaction") => state.trap.max(Trap::Caught),
        _ if second.is_some_and(|handler| NO_HANDLERS.contains(&handler)) => Trap::Deadly,
        // `signal`, or a function of the program's own around it.
        _ if second.is_some_and(|handler| world.image.code_offset(Svma(handler)).is_some()) => {
            state.trap.max(Trap::Caught)
        }
        _ => state.trap,
    }
}

/// What is proven where an instruction was survived.
pub(super) fn proven_by(world: &World<'_, '_>, insn: &Insn) -> Proof {
    Proof::of(beyond(world.image.arch, insn::features_of(world.image.arch, insn.features)))
}

/// What is proven where a function came back.
pub(super) fn proven_by_call(world: &World<'_, '_>, callee: &Function) -> Proof {
    if callee.end.0.saturating_sub(callee.start.0) > PROBE {
        return Proof::EMPTY;
    }
    let graph = world.graph(callee);
    let insns = graph.iter().flat_map(|graph| &graph.blocks).flat_map(|block| &block.insns);
    let needs = insns.map(|insn| proven_by(world, insn).features).filter(|features| !features.is_empty());
    Proof::of(needs.reduce(FeatureSet::intersection).unwrap_or_default())
}

fn beyond(arch: Arch, features: FeatureSet) -> FeatureSet {
    features.minus(deburr_cpu::first_level(arch))
}

/// What may run where whatever the CPU lacks is survived.
pub(super) fn everything(arch: Arch) -> Proof {
    Proof { features: Feature::all().filter(|feature| feature.arch() == arch).collect(), is_doubtful: false }
}

//! Programs that run an instruction to see whether the CPU has it, and catch the signal where it has not.
//!
//! In: the calls of a function. Out: whether an instruction that the CPU lacks would be survived, and what is proven
//! where it was there after all. Survived is what runs between a handler of SIGILL and the return to its former one,
//! and after a `sigsetjmp` that the handler jumps back to (POSIX.1-2017, `signal.h` and `setjmp.h`; SIGILL is 4,
//! signal(7)).

use crate::Svma;
use crate::function::Function;
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::state::State;
use crate::function::reach::domain::trap::Trap;
use crate::function::reach::file::abi;
use crate::function::reach::file::names;
use crate::function::reach::file::view::View;
use crate::insn::{self, Insn};
use deburr_cpu::{Arch, Feature, FeatureSet};

const SIGILL: u64 = 4;
/// `SIG_DFL` and `SIG_IGN`.
const NO_HANDLERS: [u64; 2] = [0, 1];
/// Maximum of bytes of a function that is called to try its instructions.
const PROBE: u32 = 1024;

/// What a call makes of it. `name`: the callee's, as far as it is informative.
pub(crate) fn after_call(file: &View<'_, '_>, name: Option<&str>, state: &State) -> Trap {
    if name.is_some_and(names::is_return_point) {
        return if state.trap == Trap::Deadly { Trap::Deadly } else { Trap::Survived };
    }
    let argument = |number: usize| {
        abi::arguments(file.image.arch).get(number).and_then(|&reg| state.read(reg).as_constant())
    };
    if argument(0).map(|signal| signal & 0xffff_ffff) != Some(SIGILL) {
        return state.trap;
    }
    let (second, third) = (argument(1), argument(2));
    match name {
        Some("sigaction") if second == Some(0) => state.trap,
        // No program queries the handler that it has itself set: the former one comes back.
        Some("sigaction") if third == Some(0) && state.trap != Trap::Deadly => Trap::Deadly,
        Some("sigaction") => state.trap.max(Trap::Caught),
        _ if second.is_some_and(|handler| NO_HANDLERS.contains(&handler)) => Trap::Deadly,
        // `signal`, or a function of the program's own around it.
        _ if second.is_some_and(|handler| file.image.code_offset(Svma(handler)).is_some()) => {
            state.trap.max(Trap::Caught)
        }
        _ => state.trap,
    }
}

/// What is proven where an instruction was survived.
pub(crate) fn proven_by(file: &View<'_, '_>, insn: &Insn) -> Proof {
    Proof::of(beyond(file.image.arch, insn::features_of(file.image.arch, insn.features)))
}

/// What is proven where a function came back.
pub(crate) fn proven_by_call(file: &View<'_, '_>, callee: &Function) -> Proof {
    if callee.end.0.saturating_sub(callee.start.0) > PROBE {
        return Proof::EMPTY;
    }
    let graph = file.graph(callee);
    let insns = graph.iter().flat_map(|graph| &graph.blocks).flat_map(|block| &block.insns);
    let needs = insns.map(|insn| proven_by(file, insn).features).filter(|features| !features.is_empty());
    Proof::of(needs.reduce(FeatureSet::intersection).unwrap_or_default())
}

fn beyond(arch: Arch, features: FeatureSet) -> FeatureSet {
    features.minus(deburr_cpu::first_level(arch))
}

/// What may run where whatever the CPU lacks is survived.
pub(crate) fn everything(arch: Arch) -> Proof {
    Proof { features: Feature::all().filter(|feature| feature.arch() == arch).collect(), ..Proof::EMPTY }
}

//! `false-dependency`: instructions in small loops that wait for the old value of the register that they overwrite, and so for the
//! iteration before. One finding for each such register of a loop. In preview: which loops are hot the code does not say.

use super::{Context, Rule};
use crate::benchmark::Benchmark;
use crate::finding::{Finding, Severity, Value};
use crate::idiom::small_loop::{SmallLoop, small_loops};
use crate::insn::arithmetic::FalseDependency;
use crate::insn::sweep::{Loops, SHORT_LOOP, Wants};
use crate::insn::text::Syntax;
use crate::insn::{self, ClassSet, Insn, Lanes, Operation, Reg, RegSet};
use deburr_cpu::Arch;
use std::collections::{BTreeMap, HashSet};

/// The rule. It is silent without a target.
pub(super) const RULE: Rule = Rule {
    id: "false-dependency",
    summary: "loop whose iterations wait for each other through a register that is overwritten, on the stated CPU",
    severity: "note",
    page: include_str!("../../pages/false-dependency.md"),
    remedies: &[],
    preview: true,
    benchmark: Some(Benchmark::new("conversion", &["cvtsi2sd"], &["xorps, cvtsi2sd"])),
    wants: Wants { classes: ClassSet::EMPTY, loops: Loops::All, computing: false },
    check,
};

use FalseDependency::{CountBits, LeadingZeros, LowestBit, TrailingZeros};

/// CPUs with what waits on them. Processor definitions of LLVM (`X86.td`, `TuningPOPCNTFalseDeps` and `TuningLZCNTFalseDeps`), and of Zen 5
/// its pull request 207079. gcc assumes that `lzcnt` and `tzcnt` wait on Skylake, too, where none was measured (uops.info).
const WAITING: [(&str, &[FalseDependency]); 11] = [
    ("sandybridge", &[CountBits]),
    ("ivybridge", &[CountBits]),
    ("haswell", &[CountBits, LeadingZeros, TrailingZeros]),
    ("broadwell", &[CountBits, LeadingZeros, TrailingZeros]),
    ("skylake", &[CountBits]),
    ("skylake-avx512", &[CountBits]),
    ("cascadelake", &[CountBits]),
    ("cooperlake", &[CountBits]),
    ("silvermont", &[CountBits]),
    ("goldmont", &[CountBits]),
    ("zen5", &[TrailingZeros, LowestBit]),
];

/// CPUs that know which vector registers have zeros in the lanes that an instruction keeps, and wait for no such register: AMD's
/// optimization guides, "XMM Register Merge Optimization", and `deburr bench conversion`. Of the older ones nothing was measured.
const KNOWING_ZEROS: [&str; 17] = [
    "k8",
    "k8-sse3",
    "k10",
    "btver1",
    "btver2",
    "bulldozer",
    "piledriver",
    "steamroller",
    "excavator",
    "zen",
    "zen2",
    "zen3",
    "zen4",
    "zen5",
    "zen6",
    "c86-4g-m4",
    "c86-4g-m7",
];

fn check(context: &Context<'_>) -> Vec<Finding> {
    if context.image.arch != Arch::X86_64 || context.target.is_none() {
        return Vec::new();
    }
    let row = WAITING.iter().find(|(cpu, _)| context.target_cpu == Some(cpu));
    let knows_zeros = context.target_cpu.is_some_and(|cpu| KNOWING_ZEROS.contains(&cpu));
    let merging = if knows_zeros { &[][..] } else { &[FalseDependency::PartialUpdate] };
    let waiting: Vec<FalseDependency> =
        row.map_or(&[][..], |(_, waiting)| waiting).iter().chain(merging).copied().collect();
    let loops = small_loops(context.image, context.program, SHORT_LOOP.into());
    let chains = loops.iter().flat_map(|small| chains(context, small, &waiting));
    chains.filter_map(|chain| finding(context, &chain)).collect()
}

/// Instructions that wait for one another through a register, around a loop.
struct Chain {
    /// The loop.
    small: SmallLoop,
    /// The first, and on what it waits.
    first: (Insn, FalseDependency),
    /// How many wait for the register that they overwrite, and need nothing of the iteration before.
    waiting: u64,
}

/// The chains of a loop: registers that no instruction in it overwrites without waiting for the old value. An instruction whose own result
/// becomes its input must wait anyway, and makes no chain.
fn chains(context: &Context<'_>, small: &SmallLoop, waiting: &[FalseDependency]) -> Vec<Chain> {
    let image = context.image;
    let body = small.body(image, context.program);
    let waits = |insn: &Insn| {
        let found = insn::false_dependency(image.arch, image.bytes_at(insn.svma)?)?;
        waiting.contains(&found).then_some(found)
    };
    let waits: Vec<Option<FalseDependency>> = body.iter().map(waits).collect();
    let mut chains: BTreeMap<Reg, Chain> = BTreeMap::new();
    for (index, (insn, waits)) in body.iter().zip(&waits).enumerate() {
        let (Some(found), Some(register)) = (*waits, insn.dst) else { continue };
        if !needs_its_result(&body, index, register) {
            let new = Chain { small: *small, first: (*insn, found), waiting: 0 };
            chains.entry(register).or_insert(new).waiting += 1;
        }
    }
    let breaks = |register: Reg, insn: &Insn| {
        insn.writes.contains(register) && (!insn.reads.contains(register) || makes_zero(insn))
    };
    chains.retain(|register, _| {
        !body.iter().zip(&waits).any(|(insn, waits)| waits.is_none() && breaks(*register, insn))
    });
    chains.into_values().collect()
}

/// Whether what an instruction of a loop puts into a register becomes its own input in the next iteration: through registers, and through
/// memory by the same operand.
fn needs_its_result(body: &[Insn], index: usize, register: Reg) -> bool {
    let Some((before, [insn, after @ ..])) = body.split_at_checked(index) else { return false };
    let mut derived = RegSet::EMPTY.with(register);
    let mut stored: HashSet<(Option<Reg>, Option<Reg>, i64)> = HashSet::new();
    for insn in after.iter().chain(before) {
        let place = insn.memory.map(|memory| (memory, (memory.base, memory.index, memory.displacement)));
        let is_loaded = place.is_some_and(|(memory, place)| memory.read && stored.contains(&place));
        let is_derived = is_loaded || insn.reads.intersects(derived) && !makes_zero(insn);
        derived = if is_derived { derived.union(insn.writes) } else { derived.minus(insn.writes) };
        // A place is another one where its address has changed.
        stored.retain(|(base, index, _)| {
            ![base, index].into_iter().flatten().any(|register| insn.writes.contains(*register))
        });
        if let Some((_, place)) = place.filter(|(memory, _)| memory.write) {
            match is_derived {
                true => stored.insert(place),
                false => stored.remove(&place),
            };
        }
    }
    let place = insn.memory.map(|memory| (memory.base, memory.index, memory.displacement));
    let inputs = insn.reads.minus(RegSet::EMPTY.with(register));
    place.is_some_and(|place| stored.contains(&place)) || inputs.intersects(derived)
}

/// Whether an instruction makes zero of whatever its register was: `xor eax, eax`, `pxor xmm0, xmm0`. Nothing waits for it.
fn makes_zero(insn: &Insn) -> bool {
    let [first, second, _] = insn.src;
    let is_same = first.is_some() && first == second;
    insn.lanes == Some(Lanes::Zero) || matches!(insn.operation, Operation::Xor | Operation::Sub) && is_same
}

fn finding(context: &Context<'_>, chain: &Chain) -> Option<Finding> {
    let (small, (insn, found)) = (chain.small, chain.first);
    let code = context.image.bytes_at(insn.svma)?;
    let text = insn::disassemble(context.image.arch, code, insn.svma, Syntax::default())?;
    let (mnemonic, register) = (text.split_whitespace().next()?, text.rsplit([',', ' ']).next()?);
    let (cpu, zero) = match found {
        FalseDependency::PartialUpdate => ("Intel's CPUs", "xorps"),
        _ => (context.target_cpu?, "xor"),
    };
    let instructions = small.instructions;
    let message = format!(
        "{mnemonic} waits for what the iteration before has put into {register}, on {cpu} (a loop of {instructions} instructions): \
         {zero} {register},{register} before it ends that"
    );
    let evidence = vec![
        ("instruction", Value::Text(mnemonic.into())),
        ("register", Value::Text(register.trim_start_matches('%').into())),
        ("waiting", Value::Number(chain.waiting)),
        ("instructions", Value::Number(instructions.into())),
        ("size", Value::Number(small.extent.len())),
    ];
    Some(context.finding(RULE.id, Severity::Note, insn.svma, message, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::Target;

    #[test]
    fn every_row_is_a_target() {
        for cpu in WAITING.map(|(cpu, _)| cpu).into_iter().chain(KNOWING_ZEROS) {
            assert_eq!(Target::parse(cpu).unwrap().cpu(), Some(cpu));
        }
    }
}

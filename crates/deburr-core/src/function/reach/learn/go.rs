//! Where Go's run-time library keeps what the kernel told it of the CPU, on AArch64.
//!
//! In: the functions that read the auxiliary vector, by their names in Go's function table. Out: the words that they
//! store `AT_HWCAP` and `AT_HWCAP2` to. What the standard library makes of them, a struct of flags, is learnt as of any
//! other program. A word that something else writes to, or takes the address of, is left out. Source: the Go sources,
//! `src/runtime/os_linux_arm64.go` (`archauxv`), `src/runtime/os_linux.go` (`sysauxv`, which it is inlined in) and
//! `golang.org/x/sys/cpu` (`hwcap_linux.go`).

use crate::address::{Extent, Svma};
use crate::function::Function;
use crate::function::block::{Block, Graph};
use crate::function::reach::file::references::Access;
use crate::function::reach::file::view::View;
use crate::image::SymbolOrigin;
use crate::insn::{self, Condition, Flow, Insn, Operation, Reg};
use deburr_cpu::query::{AT_HWCAP, AT_HWCAP2};
use std::collections::{BTreeMap, BTreeSet};

/// The functions of the run-time library, wherever Go's compiler inlines one in another.
const RUNTIME: &[&str] = &["runtime.sysauxv", "runtime.archauxv", "runtime.setup_auxv", "runtime.sysargs"];
/// The package that other programs' packages read the vector with, under any path that it is copied to.
const PACKAGE: &str = "golang.org/x/sys/cpu.";

/// The words, each with the number of the kernel's word that it holds: 1 or 2.
pub(crate) fn kernel_words(file: &View<'_, '_>) -> Vec<(u64, u8)> {
    let symbols = file.image.symbols.iter().filter(|symbol| symbol.origin == SymbolOrigin::Pclntab);
    let named = symbols.filter(|symbol| is_reader(&symbol.name));
    let readers: BTreeSet<_> = named.filter_map(|symbol| file.image.code_offset(symbol.svma)).collect();
    let mut found: BTreeMap<u64, BTreeSet<u8>> = BTreeMap::new();
    for &start in &readers {
        let Some(function) = file.program.function_from(start) else { continue };
        for (at, word) in stores(file, function) {
            found.entry(at).or_default().insert(word);
        }
    }
    let is_theirs = |&at: &u64| {
        let references = file.references_to(&[Extent::sized(Svma(at), 8)]).into_iter();
        let mut others = references.filter(|reference| {
            let from = file.image.code_offset(reference.from).and_then(|from| file.whole_at(from));
            from.is_none_or(|function| !readers.contains(&function.start))
        });
        others.all(|reference| match reference.access {
            Access::Read => true,
            Access::Address => is_loaded_from(file, reference.from),
            Access::Write | Access::Call => false,
        })
    };
    let single = found.into_iter().filter(|(_, words)| words.len() == 1);
    let words = single.filter_map(|(at, words)| Some((at, words.first().copied()?)));
    words.filter(|(at, _)| is_theirs(at)).collect()
}

/// Whether the instruction after one that makes an address does nothing with it but load from there. Go before 1.21
/// makes each address by `adrp` and `add`.
fn is_loaded_from(file: &View<'_, '_>, at: Svma) -> bool {
    let decoded = |at: Svma| insn::decode(file.image.arch, file.image.bytes_at(at)?, at);
    let Some(made) = decoded(at) else { return false };
    let Some(next) = decoded(made.next()) else { return false };
    let memory = next.memory.filter(|memory| memory.read && !memory.write && !memory.write_back);
    memory.is_some_and(|memory| memory.base.is_some() && memory.base == made.dst && memory.index.is_none())
        && !next.src.contains(&made.dst)
}

/// Whether a function reads the auxiliary vector, by its name.
fn is_reader(name: &str) -> bool {
    RUNTIME.contains(&name) || name.contains(PACKAGE)
}

/// The words that a function stores to where a type of the auxiliary vector is one of the two.
fn stores(file: &View<'_, '_>, function: &Function) -> Vec<(u64, u8)> {
    let Some(graph) = file.graph(function) else { return Vec::new() };
    let mut found = Vec::new();
    for block in &graph.blocks {
        let Some((tag, arm)) = tested(&graph, block) else { continue };
        let word = match tag {
            AT_HWCAP => 1,
            AT_HWCAP2 => 2,
            _ => continue,
        };
        found.extend(stored(&arm.insns).map(|at| (at, word)));
    }
    found
}

/// The number that a block compares something with, and the block that only equality leads to.
fn tested<'g>(graph: &'g Graph, block: &Block) -> Option<(u64, &'g Block)> {
    let (last, before) = block.insns.split_last()?;
    let compared =
        before.last().filter(|insn| insn.operation == Operation::Compare && insn.src[1].is_none())?;
    let tag = u64::try_from(compared.imm?).ok()?;
    let equal = match (last.operation, last.condition?) {
        (Operation::BranchCondition, Condition::Equal) => match last.flow {
            Flow::Branch(to) => to,
            _ => return None,
        },
        (Operation::BranchCondition, Condition::NotEqual) => last.next(),
        _ => return None,
    };
    let arm = graph.blocks.iter().find(|block| block.start() == equal)?;
    (arm.predecessors.len() == 1).then_some((tag, arm))
}

/// The places that instructions in a row store eight bytes to.
fn stored(insns: &[Insn]) -> impl Iterator<Item = u64> {
    let mut pages: BTreeMap<Reg, i64> = BTreeMap::new();
    insns.iter().filter_map(move |insn| {
        let memory = insn.memory.filter(|memory| memory.write && memory.size == 8 && memory.index.is_none());
        let place = memory.and_then(|memory| pages.get(&memory.base?)?.checked_add(memory.displacement));
        let kept = insn.src[0].is_some();
        let base = insn.src[0].filter(|_| insn.src[1].is_none()).and_then(|base| pages.get(&base));
        let made = match insn.operation {
            Operation::Address => insn.imm,
            Operation::Add => base.zip(insn.imm).and_then(|(base, offset)| base.checked_add(offset)),
            _ => None,
        };
        match (insn.dst, made) {
            (Some(dst), Some(made)) => drop(pages.insert(dst, made)),
            (Some(dst), None) => drop(pages.remove(&dst)),
            (None, _) => {}
        }
        place.filter(|_| kept).and_then(|place| u64::try_from(place).ok())
    })
}

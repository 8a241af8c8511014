//! What the file's own code tests of the CPU.
//!
//! In: what was learnt. Out: [`Told`]: the features that decide, in some function, what other code runs, or that are among
//! what is kept where other code finds it. A function that only fills words is no test by itself (libgcc's
//! `__init_cpu_features`); who reads these words may be one. Run-time libraries query for everything, and mostly nobody looks.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::reach::domain::told::Told;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::foreign::import_of;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::learn::run::run;
use crate::function::reach::learn::sources::{callers_by_name, names_sigill, query_functions};
use crate::function::reach::machine::effects::{Facts, UseKind};
use crate::function::reach::machine::memory::Memory;
use crate::insn::{self, Class, Operation, Reg};
use deburr_cpu::{FeatureSet, query};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum of functions that are run once more.
const MANY: usize = 4096;

/// What the file's own code tests of the CPU. `roots`: where control enters the file.
pub(crate) fn told(file: &View<'_, '_>, learnt: &Learnt, roots: &BTreeSet<CodeOffset>) -> Told {
    let lost = Told { features: FeatureSet::EMPTY, is_lost: true };
    let queries: BTreeSet<CodeOffset> = query_functions(file).iter().map(|function| function.start).collect();
    // What Go's run-time library learns is not followed.
    if file.image.build.is_go || !file.auxv_readers().is_empty() || probes(file) || identifies(file) {
        return lost;
    }
    let dead = dead(file, &queries, roots);
    let informed = learnt.facts.iter().filter(|(_, facts)| is_informed(facts));
    let informed = informed.filter_map(|(entry, _)| Some(file.whole_at(*entry)?.start));
    let mut pending: BTreeSet<CodeOffset> = informed.chain(queries.iter().copied()).collect();
    pending.extend(callers_by_name(file, |name| file.answers(name)));
    let querying = learnt.summaries.inlined.union(&learnt.summaries.context_free).copied().collect();
    pending.extend(file.callers_of(&querying));
    pending.retain(|start| !dead.contains(start));
    let memory = Memory { words: learnt.memory.words.clone(), records_told: true, ..Memory::default() };
    let mut shown = Shown {
        file,
        learnt,
        facts: FactsByFunction::default(),
        ran: BTreeSet::new(),
        inside: BTreeSet::new(),
    };
    while !pending.is_empty() {
        let facts = run(file, &learnt.summaries, &memory, &pending);
        let is_missing = |start: &CodeOffset| !facts.contains_key(start);
        let is_cut = |facts: &Facts| facts.blocks.iter().any(|block| block.is_cut);
        if shown.ran.len() + pending.len() > MANY
            || pending.iter().any(is_missing)
            || facts.values().any(|facts| is_cut(facts))
        {
            return lost;
        }
        shown.inside.extend(facts.values().flat_map(|facts| facts.inside.iter().copied()));
        shown.facts.extend(facts);
        shown.ran.append(&mut pending);
        pending = shown.inside.difference(&shown.ran).copied().collect();
    }
    shown.told(roots)
}

/// Whether something in a run of a function came from the CPU.
fn is_informed(facts: &Facts) -> bool {
    let is_tested = |proof: crate::function::reach::domain::proof::Proof| !proof.is_empty();
    facts.blocks.iter().filter_map(|block| block.proof).any(is_tested)
        || facts.returned.is_informative()
        || !facts.arguments.is_empty()
        || !facts.fields.is_empty()
        || facts.inputs.words.values().any(Value::is_informative)
        || facts.inputs.callees.values().flatten().any(Value::is_informative)
        || facts.stores.iter().any(|stored| stored.value.is_informative())
}

/// Those of some functions that nothing leads to.
fn dead(
    file: &View<'_, '_>,
    functions: &BTreeSet<CodeOffset>,
    roots: &BTreeSet<CodeOffset>,
) -> BTreeSet<CodeOffset> {
    let is_dead = |start: &&CodeOffset| {
        let function = file.program.function_from(**start);
        !roots.contains(start)
            && !file.incoming.inner.contains_key(start)
            && function.is_some_and(|function| !file.is_referred_to(function))
    };
    functions.iter().filter(is_dead).copied().collect()
}

/// Whether some function handles SIGILL, by which instructions can be tried.
fn probes(file: &View<'_, '_>) -> bool {
    let handles = |name: &str| {
        matches!(
            name.strip_suffix("64").unwrap_or(name),
            "signal"
                | "sigaction"
                | "sigset"
                | "bsd_signal"
                | "sysv_signal"
                | "__sysv_signal"
                | "rt_sigaction"
        )
    };
    callers_by_name(file, handles).iter().any(|&start| names_sigill(file, start))
}

/// Whether some function looks at which CPU it is, rather than at what it has: its family and model, MIDR_EL1.
fn identifies(file: &View<'_, '_>) -> bool {
    let marks = file.program.marks().filter(|mark| mark.class == Class::FeatureQuery);
    marks.into_iter().any(|mark| {
        let svma = file.image.svma(mark.at);
        let decoded = |at: Svma| insn::decode(file.image.arch, file.image.bytes_at(at)?, at);
        let Some(query) = decoded(svma) else { return true };
        match query.operation {
            Operation::ReadSystemRegister => {
                let number = query.imm.and_then(|imm| u16::try_from(imm).ok()).unwrap_or(0);
                query::id_register_bits(number).is_empty()
            }
            Operation::CpuId => is_signature_read(file, svma),
            _ => false,
        }
    })
}

/// Whether code reads `eax` after `cpuid`, of a leaf where that may be the family and the model.
fn is_signature_read(file: &View<'_, '_>, query: Svma) -> bool {
    /// Instructions before and after it.
    const NEAR: usize = 24;
    let eax = Reg::general(0);
    let decoded = |at: Svma| insn::decode(file.image.arch, file.image.bytes_at(at)?, at);
    let function = file.image.code_offset(query).and_then(|at| file.program.function_at(at));
    let Some(start) = function.map(|function| file.image.svma(function.start)) else { return true };
    // The leaf, where it is made just before.
    let before = std::iter::successors(decoded(start), |insn| decoded(insn.next()))
        .take_while(|insn| insn.svma < query);
    let leaf = before.filter(|insn| insn.writes.contains(eax)).last();
    let leaf = leaf.filter(|insn| insn.dst == Some(eax)).and_then(|insn| match insn.operation {
        Operation::Move => insn.imm,
        Operation::Xor if insn.src[0] == insn.src[1] => Some(0),
        _ => None,
    });
    if leaf.is_some_and(|leaf| leaf != 1) {
        return false;
    }
    let after = std::iter::successors(decoded(query).and_then(|insn| decoded(insn.next())), |insn| {
        decoded(insn.next())
    });
    for insn in after.take(NEAR) {
        if insn.reads.contains(eax) && insn.operation != Operation::CpuId {
            return true;
        }
        if insn.writes.contains(eax) {
            return false;
        }
    }
    true
}

/// What the runs showed.
struct Shown<'s, 'w, 'a> {
    file: &'s View<'w, 'a>,
    learnt: &'s Learnt,
    facts: FactsByFunction,
    /// The functions that were run by themselves.
    ran: BTreeSet<CodeOffset>,
    /// Those that were run inside others as well.
    inside: BTreeSet<CodeOffset>,
}

impl Shown<'_, '_, '_> {
    fn told(&self, roots: &BTreeSet<CodeOffset>) -> Told {
        let by_runs = self.facts.values().map(|facts| facts.told).fold(Told::default(), Told::union);
        let mut words: BTreeMap<(u64, u8), Told> = BTreeMap::new();
        let learnt = self.learnt.memory.words.iter().map(|(&word, value)| (word, Told::of(value)));
        let stores = self.facts.values().flat_map(|facts| &facts.stores);
        let stored = stores.map(|stored| ((stored.at, stored.width), Told::of(&stored.value)));
        for (word, told) in learnt.chain(stored).filter(|(_, told)| !told.is_nothing()) {
            let known = words.entry(word).or_default();
            *known = known.union(told);
        }
        let kept = words.into_iter().filter(|&((at, width), _)| !self.is_followed(at, width));
        let kept = kept.fold(Told::default(), |all, (_, told)| all.union(told));
        let returned = self.facts.iter().filter_map(|(entry, facts)| {
            let told = Told::of(&facts.returned);
            let start = self.file.whole_at(*entry)?.start;
            (!told.is_nothing() && !self.is_return_followed(start, roots)).then_some(told)
        });
        by_runs.union(kept).union(returned.fold(Told::default(), Told::union))
    }

    /// Whether all that refers to a word was run, so that what it tells shows there.
    fn is_followed(&self, at: u64, width: u8) -> bool {
        let file = self.file;
        if import_of(at).is_some() {
            return false;
        }
        let object = file.linkage.object_at(Svma(at)).map(|object| object.extent);
        let place = object.unwrap_or(Extent::sized(Svma(at), width.into()));
        let overlaps = |extent: Extent| extent.start < place.end && place.start < extent.end;
        let is_exported = file.linkage.exported_objects.iter().any(|object| overlaps(object.extent));
        let held = file.incoming.cells_to(place);
        let is_let_out = self.facts.values().flat_map(|facts| &facts.uses).any(|used| {
            used.kind != UseKind::Called && place.start <= used.address && used.address < place.end
        });
        if is_exported || is_let_out || held.iter().any(|&(_, cell)| !file.is_fixed_cell(cell)) {
            return false;
        }
        // Also through the GOT.
        let places: Vec<Extent> =
            held.iter().map(|&(_, cell)| Extent::sized(cell, 8)).chain([place]).collect();
        file.references_to(&places).into_iter().all(|reference| {
            let from = file.image.code_offset(reference.from).and_then(|from| file.whole_at(from));
            from.is_some_and(|function| self.ran.contains(&function.start))
        })
    }

    /// Whether all callers of a function were run with what it returns.
    fn is_return_followed(&self, start: CodeOffset, roots: &BTreeSet<CodeOffset>) -> bool {
        let (file, summaries) = (self.file, &self.learnt.summaries);
        let place = Extent::sized(file.image.svma(start), 1);
        // The loader drops what constructors return.
        let is_constructor = |cell: Svma| {
            file.image.arrays.iter().any(|(extent, _)| extent.start <= cell && cell < extent.end)
        };
        let exported =
            file.linkage.exports.binary_search(&file.image.svma(start)).is_ok() && roots.contains(&start);
        let is_held = file.incoming.cells_to(place).iter().any(|&(_, cell)| !is_constructor(cell));
        if exported
            || is_held
            || file.incoming.addresses_of(start).next().is_some()
            || file.is_resolver(start)
        {
            return false;
        }
        let callers = file.callers_of(&BTreeSet::from([start]));
        let is_known = summaries.returns.contains_key(&start)
            || summaries.inlined.contains(&start)
            || self.inside.contains(&start);
        callers.is_empty() || is_known && callers.iter().all(|caller| self.ran.contains(caller))
    }
}

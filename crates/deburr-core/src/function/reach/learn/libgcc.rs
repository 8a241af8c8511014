//! Where the compiler's run-time library keeps what it learnt of the CPU, in files whose symbols are gone.
//!
//! In: the functions that query the CPU. Out: the places of `__cpu_model` and `__cpu_features2`.
//! `__cpu_indicator_init`, which fills them, is known by what it compares and stores: the vendor's name as CPUID spells
//! it, and the numbers that `enum processor_vendor` gives vendors. Source: GCC, `common/config/i386/cpuinfo.h` and
//! `i386-cpuinfo.h`.

use crate::address::Svma;
use crate::function::Function;
use crate::function::block::Graph;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::sources::query_functions;
use crate::function::reach::machine::effects::Facts;
use crate::function::reach::machine::interpret::interpret;
use crate::function::reach::machine::memory::Memory;
use crate::function::reach::machine::summaries::Summaries;
use crate::insn::{Flow, Insn};
use std::collections::BTreeSet;
use std::sync::Arc;

/// "Genu", the first four letters of Intel's name.
const GENU: i64 = 0x756e_6547;
/// `VENDOR_OTHER`: any vendor except Intel and AMD, in all versions of the library.
const VENDOR_OTHER: u64 = 3;
/// Bytes of `struct __processor_model`: vendor, type, subtype, features.
const MODEL_SIZE: u64 = 16;

/// Places of the two objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuModel {
    /// `__cpu_model`.
    pub model: u64,
    /// `__cpu_features2`, where something refers to it.
    pub features2: Option<u64>,
}

/// Finds them in a file for x86-64.
pub(crate) fn cpu_models(file: &View<'_, '_>) -> Vec<CpuModel> {
    query_functions(file).iter().filter_map(|function| cpu_model(file, function)).collect()
}

fn insns(graph: &Graph) -> impl Iterator<Item = &Insn> {
    graph.blocks.iter().flat_map(|block| &block.insns)
}

fn cpu_model(file: &View<'_, '_>, function: &Function) -> Option<CpuModel> {
    let graph = file.graph(function)?;
    insns(&graph).find(|insn| insn.imm.is_some_and(|imm| imm as u32 == GENU as u32))?;
    let facts = interpret(file, &Summaries::default(), &Memory::default(), function, function.start)?;
    let model = vendor_word(&facts)?;
    let callees = insns(&graph).filter_map(|insn| match insn.flow {
        Flow::Call(to) => file.called_at(to).and_then(|callee| file.graph(callee)),
        _ => None,
    });
    let graphs: Vec<Arc<Graph>> = callees.chain([Arc::clone(&graph)]).collect();
    let places = graphs.iter().flat_map(|graph| insns(graph)).filter_map(|insn| insn.memory);
    let places = places.filter(|memory| memory.is_static).map(|memory| memory.displacement as u64);
    let is_other = |at: &u64| {
        !(model..model + MODEL_SIZE).contains(at)
            && file.linkage.data_at(Svma(*at)).is_some_and(|data| data.is_writable && !data.is_constant)
    };
    Some(CpuModel { model, features2: places.filter(is_other).min() })
}

/// The word that is set to the vendor's number: type and subtype follow it.
fn vendor_word(facts: &Facts) -> Option<u64> {
    let stored: BTreeSet<u64> = facts.stores.iter().map(|stored| stored.at).collect();
    let vendors = facts.stores.iter().filter(|stored| {
        let is_other = |&(value, _): &(u64, _)| value == VENDOR_OTHER;
        stored.width == 4 && stored.value.choices().iter().any(is_other)
    });
    let mut words = vendors.map(|stored| stored.at);
    words.find(|at| stored.contains(&at.wrapping_add(4)) && !stored.contains(&at.wrapping_sub(4)))
}

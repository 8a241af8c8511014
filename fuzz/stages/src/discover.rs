//! Finding functions: bytes → functions, their graphs and loops, atomics.

use crate::input::split;
use deburr_core::function::atomics::{self, atomics};
use deburr_core::function::block::Graph;
use deburr_core::function::loops::natural_loops;
use deburr_core::function::{Program, discover as find_functions};
use deburr_core::image::Image;
use deburr_core::insn::sweep::{Loops, Wants};
use deburr_cpu::Arch;

/// Graphs are built of this many functions: a small file has few more.
const GRAPHS: usize = 12;

/// Finds the functions of an ELF file, the graphs and the loops of some, and its atomics.
///
/// # Panics
/// Where a byte is not accounted for, functions overlap or leave the code, or a graph is not closed.
pub fn discover(data: &[u8]) {
    let Some((choice, bytes)) = split(data) else { return };
    let Ok(image) = Image::parse(bytes, choice.has_debug_file().then_some(bytes)) else { return };
    let wants = Wants { classes: atomics::WANTS, loops: Loops::All, computing: true };
    let program = find_functions(&image, wants);
    assert!(program.coverage.adds_up(), "{:?}", program.coverage);
    hold_of_functions(&image, &program);
    for function in program.functions().iter().take(GRAPHS) {
        hold_of_graph(&Graph::of(&image, &program, function, image.svma(function.start)), &image, function);
    }
    hold_of_atomics(&image, &program);
}

fn hold_of_functions(image: &Image<'_>, program: &Program) {
    let functions = program.functions();
    for function in functions {
        let extent = function.extent(image);
        let code = image.code_at(extent.start).expect("a function begins in code");
        assert!(extent.end <= code.extent.end, "a function ends in the section that it begins in");
        // A symbol on padding names a function without code.
        assert!(extent.start <= extent.end);
        assert!(extent.is_empty() || program.function_at(function.start) == Some(function));
        let whole = program.whole(function);
        assert!(!whole.is_part(), "a part belongs to a whole function");
    }
    assert!(functions.windows(2).all(|pair| pair[0].end <= pair[1].start), "functions overlap");
    assert!(program.data().windows(2).all(|pair| pair[0].end <= pair[1].start), "runs of data overlap");
    let is_code = |at| image.code_at(image.svma(at)).is_some();
    assert!(program.marks().all(|mark| is_code(mark.at) && !program.is_data(mark.at)));
    assert!(program.marks().map(|mark| mark.at).is_sorted());
    for edge in program.calls().chain(program.jumps()) {
        assert!(is_code(edge.from));
    }
    for edge in program.back_edges() {
        assert!(edge.to <= edge.from, "{edge:?}");
        assert!(is_code(edge.from), "{edge:?}");
    }
    for (function, hits) in program.hits_by_function() {
        assert!(!hits.is_empty());
        assert!(hits.iter().all(|hit| function.is_none_or(|function| function.contains(hit.at))));
    }
}

fn hold_of_graph(graph: &Graph, image: &Image<'_>, function: &deburr_core::function::Function) {
    let extent = function.extent(image);
    assert!(graph.blocks.windows(2).all(|pair| pair[0].start() < pair[1].start()));
    for (index, block) in graph.blocks.iter().enumerate() {
        assert!(!block.insns.is_empty() && block.insns.iter().all(|insn| extent.contains(insn.svma)));
        assert!(block.insns.windows(2).all(|pair| pair[0].next() == pair[1].svma));
        for &next in &block.successors {
            assert!(graph.blocks[next].predecessors.contains(&index));
        }
        for &before in &block.predecessors {
            assert!(graph.blocks[before].successors.contains(&index));
        }
    }
    for found in natural_loops(graph).all() {
        assert!(found.blocks.contains(&found.header) && found.blocks.is_sorted());
        assert!(found.blocks.iter().all(|&block| block < graph.blocks.len()));
    }
}

fn hold_of_atomics(image: &Image<'_>, program: &Program) {
    let found = atomics(image, program);
    assert!(image.arch == Arch::Aarch64 || found == atomics::Atomics::default());
    assert!(found.helpers.iter().all(|helper| image.code_at(helper.extent.start).is_some()));
    assert!(found.helpers.is_sorted_by_key(|helper| helper.extent.start));
}

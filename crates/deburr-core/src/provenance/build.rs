//! What a file shows of its build as a whole: [`Build`], by which `diff` judges.
//!
//! In: a [`Source`]. Out: numbers and names, none of which needs symbols.

use super::fast_math::FastMath;
use super::interposable::interposable_calls;
use super::left_in::{Assertions, Instrumentation};
use super::source::Source;
use super::{Optimisation, allocator};
use crate::image::loading::version::Version;
use crate::image::{ArrayKind, Image, Misfit, PAGE_SIZES, debug_bytes, needed_versions, pages, rights};
use deburr_cpu::Arch;

/// What a file shows of its build.
#[derive(Debug, Clone)]
pub(crate) struct Build {
    /// Which parts no optimiser has seen.
    pub(crate) optimisation: Optimisation,
    /// Instrumentation, by kind.
    pub(crate) instrumentation: Vec<Instrumentation>,
    /// Assertions.
    pub(crate) assertions: Assertions,
    /// Bytes of debug information.
    pub(crate) debug_bytes: u64,
    /// Bytes of the file.
    pub(crate) bytes: u64,
    /// Calls of its own functions that another file may take.
    pub(crate) interposable_calls: u64,
    /// All direct calls.
    pub(crate) calls: u64,
    /// Whether it is a library that needs an executable stack.
    pub(crate) executable_stack: bool,
    /// Whether relocations change what is not to be written.
    pub(crate) text_relocations: bool,
    /// What loading it does to floating-point numbers of the whole process.
    pub(crate) fast_math: Option<FastMath>,
    /// The largest page that it runs with, in bytes; `None` where it runs with all, and on x86-64.
    pub(crate) largest_page: Option<u64>,
    /// Functions that the loader calls before the program.
    pub(crate) initialisers: u64,
    /// The newest version of glibc that it needs.
    pub(crate) glibc: Option<Version>,
    /// Names that other files must define, by name.
    pub(crate) undefined: Vec<String>,
    /// Instructions of functions that compute with vectors.
    pub(crate) vector_instructions: u64,
    /// All instructions of functions.
    pub(crate) instructions: u64,
}

impl Build {
    /// Reads it. `vector_instructions`: those among the instructions of functions that compute with vectors.
    pub(crate) fn of(source: &Source<'_, '_>, vector_instructions: u64, instructions: u64) -> Build {
        let image = source.image;
        let rights = rights(image.bytes).ok();
        let mut undefined: Vec<String> =
            source.undefined.iter().filter(|it| !it.is_weak).map(|it| it.name.to_owned()).collect();
        undefined.sort_unstable();
        undefined.dedup();
        Build {
            optimisation: Optimisation::of_source(source),
            instrumentation: Instrumentation::of(source),
            assertions: Assertions::of(source),
            debug_bytes: debug_bytes(image.bytes).unwrap_or(0),
            bytes: image.bytes.len() as u64,
            interposable_calls: interposable_calls(source).all().count() as u64,
            calls: source.program.calls().count() as u64,
            executable_stack: rights.is_some_and(|rights| rights.executable_stack),
            text_relocations: rights.is_some_and(|rights| rights.text_relocations),
            fast_math: FastMath::of(source),
            largest_page: largest_page(source),
            initialisers: initialisers(image),
            glibc: newest_glibc(image),
            undefined,
            vector_instructions,
            instructions,
        }
    }
}

/// The largest page, in bytes, that a file runs with; `None` where it runs with all of them.
fn largest_page(source: &Source<'_, '_>) -> Option<u64> {
    let image = source.image;
    let pages = pages(image.bytes).ok().filter(|pages| pages.is_android || image.arch == Arch::Aarch64)?;
    let by_segments = pages.misfits.first().map(Misfit::largest_page);
    let by_allocator = allocator::largest_page(source).map(|(_, page)| page);
    let largest = by_segments.into_iter().chain(by_allocator).min()?;
    PAGE_SIZES.last().is_some_and(|&last| largest < last).then_some(largest)
}

fn initialisers(image: &Image<'_>) -> u64 {
    let arrays = image.arrays.iter().filter(|(_, kind)| *kind != ArrayKind::Fini);
    arrays.map(|(extent, _)| extent.len() / 8).sum()
}

/// The newest version of glibc that a file needs for certain.
fn newest_glibc(image: &Image<'_>) -> Option<Version> {
    let needed = needed_versions(image.bytes).ok()?;
    needed
        .iter()
        .filter(|version| !version.is_weak)
        .filter_map(|version| Version::of_glibc(version.name))
        .max()
}

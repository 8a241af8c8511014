//! Benchmarks: what of a kernel of `deburr bench` measures what a rule finds.
//!
//! In: names. Out: [`Benchmark`], as data: the core runs nothing.

/// The kernel of `deburr bench` that measures what a rule finds, and which of its variants do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Benchmark {
    /// The kernel.
    pub kernel: &'static str,
    /// Variants that do what the rule finds; the first one counts that a CPU has.
    pub found: &'static [&'static str],
    /// Variants that do what the page advises, likewise; empty where that is to do nothing.
    pub instead: &'static [&'static str],
}

impl Benchmark {
    /// A kernel, with the variants that do what the rule finds, and those that do what the page advises.
    pub const fn new(
        kernel: &'static str,
        found: &'static [&'static str],
        instead: &'static [&'static str],
    ) -> Benchmark {
        Benchmark { kernel, found, instead }
    }
}

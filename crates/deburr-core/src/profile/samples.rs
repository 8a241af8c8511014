//! What a profile saw of one file: the caller's input.

use std::sync::Arc;

/// Where a sample is in the file, in the terms of the profile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SamplePlace {
    /// An offset in the file, in bytes.
    FileOffset(u64),
    /// An address as the file states it.
    Svma(u64),
    /// A place in a function.
    Symbol {
        /// The function's name, as a symbol or demangled.
        name: Arc<str>,
        /// Bytes after its beginning; `None` where only the function is known.
        offset: Option<u64>,
    },
}

/// What was seen at a place when a certain caller had called its function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledEdge {
    /// The innermost frame.
    pub leaf: SamplePlace,
    /// The return address in the next frame, in the same file.
    pub caller: SamplePlace,
    /// The part of the leaf's weight.
    pub weight: u64,
}

/// How often control went from one place to another: a counted call, or a taken branch that was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedCall {
    /// The call or branch.
    pub from: SamplePlace,
    /// Its target, in the same file.
    pub to: SamplePlace,
    /// How often.
    pub count: u64,
}

/// What a profile saw of one file, by one event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// The profiler's name of the event.
    pub event: String,
    /// The weight of all that the profile saw of the event, in this file and elsewhere: what shares are shares of.
    pub total: u64,
    /// The number of samples in this file; 0 where events were counted.
    pub samples: u64,
    /// Whether a sample may name an instruction after the one that caused it.
    pub skids: bool,
    /// Weights by place.
    pub leaves: Vec<(SamplePlace, u64)>,
    /// Parts of them by caller.
    pub edges: Vec<SampledEdge>,
    /// Recorded branches.
    pub branches: Vec<CountedCall>,
    /// Counted calls.
    pub calls: Vec<CountedCall>,
}

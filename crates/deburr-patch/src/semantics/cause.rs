//! Patch stage: why an instruction can be no part of a proof.
//!
//! `decode` gives it for what is no instruction that is understood, symbolic execution for what does not
//! belong where it is.

use std::fmt;

/// Why an instruction cannot be part of a proof.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// Not among the instructions that are understood, unallocated, or constrained unpredictable.
    Unknown,
    /// A memory access that is not the sequence's one: plain, a second, or of the other sequence's kind; or
    /// an encoding of one that is unallocated or unpredictable.
    Access,
    /// A call, or an exception that something else handles.
    Call,
    /// `wfe`, `sevl` and their like: the monitor may be an event source.
    Event,
    /// A barrier between load-exclusive and store-exclusive, or among plain loads.
    Barrier,
    /// A store-exclusive without its load-exclusive: none before it, `clrex` between, or another address or
    /// size.
    Unpaired,
    /// The zero register as an atomic's destination: it loses acquire semantics, and is no load to
    /// `dmb ishld`.
    ZeroDestination,
    /// An instruction that is reached twice.
    Endless,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Cause::Unknown => "not an instruction that is understood",
            Cause::Access => "a memory access other than the one",
            Cause::Call => "a call",
            Cause::Event => "waits for an event or sends one",
            Cause::Barrier => "a barrier among the accesses",
            Cause::Unpaired => "a store-exclusive without its load-exclusive",
            Cause::ZeroDestination => "the zero register as an atomic's destination",
            Cause::Endless => "reached twice",
        })
    }
}

//! What one thread does to memory: its events in program order, what each depends on, and where the registers end.
//!
//! Events are those of the Arm memory model (Arm ARM, B2.3): reads, writes, barriers. A dependency is a set of earlier
//! events of the same thread, as bits. Locations are whole: all accesses to one have one size, so that nothing overlaps
//! in part; the 16 bytes of a pair are one access (a failed `ldxp` could also tear, which the original may and the
//! replacement may not).

/// Events of the thread, by index.
pub(super) type Mask = u32;

/// What a read may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Acquire {
    No,
    /// A: `ldar`, `ldaxr`, an atomic with `a`.
    Yes,
    /// Q: `ldapr`.
    Processor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Read { acquire: Acquire, returns: bool },
    Write { release: bool },
    FullBarrier,
    LoadBarrier,
    StoreBarrier,
    InstructionBarrier,
}

/// What something depends on: by data flow, and also by a choice (`csel`, the comparison of `cas`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Dependency {
    pub(super) flow: Mask,
    /// The same and the "pick" dependencies.
    pub(super) pick: Mask,
}

impl Dependency {
    pub(super) fn on(event: usize) -> Dependency {
        Dependency { flow: 1 << event, pick: 1 << event }
    }

    pub(super) fn and(self, other: Dependency) -> Dependency {
        Dependency { flow: self.flow | other.flow, pick: self.pick | other.pick }
    }

    /// With another that only chooses.
    pub(super) fn chosen_by(self, other: Dependency) -> Dependency {
        Dependency { pick: self.pick | other.pick, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Event {
    pub(super) kind: Kind,
    /// Meaningless for barriers.
    pub(super) location: usize,
    pub(super) value: u128,
    pub(super) address: Dependency,
    pub(super) data: Dependency,
    pub(super) control: Dependency,
    /// Of a write, the read that it makes a single access with.
    pub(super) rmw: Option<usize>,
    /// Whether both are one instruction.
    pub(super) is_amo: bool,
    /// Of a write, what a later read of the location by this thread depends on through it.
    pub(super) carried: Dependency,
}

impl Event {
    pub(super) fn is_read(&self) -> bool {
        matches!(self.kind, Kind::Read { .. })
    }

    pub(super) fn is_write(&self) -> bool {
        matches!(self.kind, Kind::Write { .. })
    }

    pub(super) fn is_access(&self) -> bool {
        self.is_read() || self.is_write()
    }

    pub(super) fn is_acquire(&self) -> bool {
        matches!(self.kind, Kind::Read { acquire: Acquire::Yes, .. })
    }

    /// A or Q.
    pub(super) fn acquires(&self) -> bool {
        matches!(self.kind, Kind::Read { acquire: Acquire::Yes | Acquire::Processor, .. })
    }
}

/// One path of a thread, with the values that its reads gave.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Run {
    pub(super) events: Vec<Event>,
    pub(super) registers: [u64; 31],
}

//! What an instruction is, as far as rules select by it.

/// What an instruction is, as far as rules need it. Rules name the classes they want, and a sweep marks only those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// Anything not named below.
    Other,
    /// A plain load from memory into registers (all widths; pairs; literal loads).
    Load,
    /// A plain store.
    Store,
    /// `ldxr`, `ldaxr`, `ldxp`, `ldaxp` and their byte and half forms.
    LoadExclusive,
    /// `stxr`, `stlxr`, `stxp`, `stlxp` and their byte and half forms.
    StoreExclusive,
    /// `clrex`.
    ClearExclusive,
    /// An FEAT_LSE (or LSE128) atomic: `cas`, `casp`, `swp`, `ldadd`, `stadd`, …
    LseAtomic,
    /// An x86 read-modify-write with `lock`, or `xchg` with memory.
    LockedAtomic,
    /// `dmb`, `dsb`, `mfence`, `lfence`, `sfence`.
    Barrier,
    /// `isb`.
    InstructionBarrier,
    /// `pause`, `tpause`, `yield`.
    SpinHint,
    /// `wfe`, `wfi`, `wfet`, `wfit`, `sev`, `sevl`, `monitor`, `mwait`, `umwait`.
    WaitEvent,
    /// `cpuid`, `xgetbv`, `mrs` of an ID register.
    FeatureQuery,
    /// `nop` in all lengths, `bti`, `endbr64`, `paciasp` and other hints that do nothing where unsupported.
    Hint,
    /// `svc`, `syscall`, `int`.
    SystemCall,
    /// `udf`, `brk`, `hlt`, `ud2`, `int3`.
    Trap,
    /// What a fence orders and a locked instruction may not: `movnti`, `movntdqa`, `clflushopt`, `rdtsc`, …; x86-64 only,
    /// and so after the 16 classes that a packed summary of A64 has room for.
    FenceOrdered,
}

/// A set of instruction classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassSet(pub(super) u64);

impl ClassSet {
    /// The set without classes.
    pub const EMPTY: ClassSet = ClassSet(0);

    /// The set of the given classes.
    #[expect(clippy::indexing_slicing, reason = "iterators are not const; the index is below the length")]
    pub const fn of(classes: &[Class]) -> ClassSet {
        let mut bits = 0;
        let mut i = 0;
        while i < classes.len() {
            bits |= 1 << classes[i] as u8;
            i += 1;
        }
        ClassSet(bits)
    }

    /// Whether the set holds nothing.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set holds the class.
    pub const fn contains(self, class: Class) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    /// Whether the two sets share a class.
    pub const fn intersects(self, other: ClassSet) -> bool {
        self.0 & other.0 != 0
    }

    /// All classes of both sets.
    #[must_use]
    pub const fn union(self, other: ClassSet) -> ClassSet {
        ClassSet(self.0 | other.0)
    }
}

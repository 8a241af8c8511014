//! The classes of what can surround a site so that rewriting it is wrong.
//!
//! Each class has two forms. The harmful one must keep the site from being rewritten, or keep a register from being overwritten.
//! The harmless one has the same instructions and data about another place, and is no reason to refuse anything. A row says how
//! the harmful form shows, and from when on the plan has to heed it.

/// A class of surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the table says it")]
pub enum Class {
    Branch,
    Adr,
    Page,
    Sum,
    Difference,
    BitsSet,
    Moved,
    Index,
    Product,
    Table8,
    Table16,
    Table32,
    Table64,
    TableUnbounded,
    ReturnComputed,
    PointerAbsolute,
    PointerOffset,
    PointerShort,
    LiteralPool,
    MovedImmediates,
    RelocationRela,
    RelocationRelr,
    RelocationRel,
    RelocationAndroid,
    CodeOutsideSections,
    SavedOnStack,
    SavedInVector,
    SavedInLinkers,
    SavedInGeneral,
    SavedByAlias,
    SavedByExchange,
    LandingPad,
    RangeRestartable,
    RangeExceptions,
    RangeProbe,
    RangePatchable,
    RangeAlternatives,
    DependencyAddress,
    DependencyData,
    DependencyControl,
}

/// Whether it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// The site must not be rewritten, or not so.
    Harmful,
    /// It only looks like that.
    Harmless,
}

/// Where the harmful form of a class shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// In what a program leaves: it enters the site, or reads the register.
    Running,
    /// In the plan alone: nothing that runs under the emulator depends on it.
    Planned,
    /// In the file, which is refused as a whole: with the harmless form, too.
    Whole,
    /// Nowhere yet: the plan and the proof see it, and only have to agree.
    Agreed,
}

/// A class, and where it shows.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The class.
    pub class: Class,
    /// Where its harmful form shows.
    pub shown: Shown,
    /// Whether a program with the harmful form keeps its site as it is.
    pub refuses: bool,
}

const fn entry(class: Class) -> Row {
    Row { class, shown: Shown::Running, refuses: true }
}

const fn saved(class: Class) -> Row {
    Row { class, shown: Shown::Running, refuses: false }
}

const fn range(class: Class) -> Row {
    Row { class, shown: Shown::Planned, refuses: true }
}

const fn dependency(class: Class) -> Row {
    Row { class, shown: Shown::Agreed, refuses: false }
}

/// All classes.
pub const CLASSES: [Row; 40] = [
    entry(Class::Branch),
    entry(Class::Adr),
    entry(Class::Page),
    entry(Class::Sum),
    entry(Class::Difference),
    entry(Class::BitsSet),
    entry(Class::Moved),
    entry(Class::Index),
    entry(Class::Product),
    entry(Class::Table8),
    entry(Class::Table16),
    entry(Class::Table32),
    entry(Class::Table64),
    entry(Class::TableUnbounded),
    entry(Class::ReturnComputed),
    entry(Class::PointerAbsolute),
    entry(Class::PointerOffset),
    entry(Class::PointerShort),
    entry(Class::LiteralPool),
    entry(Class::MovedImmediates),
    entry(Class::RelocationRela),
    entry(Class::RelocationRelr),
    entry(Class::RelocationRel),
    entry(Class::RelocationAndroid),
    entry(Class::CodeOutsideSections),
    saved(Class::SavedOnStack),
    saved(Class::SavedInVector),
    saved(Class::SavedInLinkers),
    saved(Class::SavedInGeneral),
    saved(Class::SavedByAlias),
    saved(Class::SavedByExchange),
    Row { class: Class::LandingPad, shown: Shown::Planned, refuses: true },
    range(Class::RangeRestartable),
    range(Class::RangeExceptions),
    range(Class::RangeProbe),
    range(Class::RangePatchable),
    Row { class: Class::RangeAlternatives, shown: Shown::Whole, refuses: true },
    dependency(Class::DependencyAddress),
    dependency(Class::DependencyData),
    dependency(Class::DependencyControl),
];

impl Class {
    /// Whether a program with the harmful form keeps its site as it is.
    pub(super) fn refuses(self) -> bool {
        CLASSES.iter().any(|row| row.class == self && row.refuses)
    }
}

//! Programs made to show that a rewrite is wrong where the pair of sequences is right: by what is around the site.
//!
//! In: a seed and numbers. Out: programs in assembly, many in one file, each run from several states before and after it was
//! rewritten, and what differed. A program is a site in a function with random instructions before, in and after it; registers
//! that this function, one that it calls, its caller or that one's caller reads again; other entries into the site; and other
//! callers. All are legal on any A64 CPU with the features that the harness's emulator has: what they compute depends on
//! nothing that the architecture, the procedure call standard or Linux leaves open, and on one thread they always
//! compute the same.
//!
//! What cannot be seen in results (a barrier that something else needs, a load-exclusive that arms the monitor for `wfe`) is
//! marked instead: those words must stay as they are.
//!
//! | module | makes |
//! |---|---|
//! | `pen` | random numbers, registers, labels |
//! | `site` | the sequence |
//! | `high_bits` | what a narrow operand holds above its size |
//! | `reader` | what reads a register again |
//! | `class` | the classes of surroundings, each in a harmful form and in a harmless one that looks like it |
//! | `entry` | what enters the sequence from elsewhere |
//! | `saved` | a register that the function keeps for its caller other than on the stack |
//! | `pad` | landing pads |
//! | `range` | ranges of addresses that a kernel or a tracer knows |
//! | `dependency` | accesses that depend on what was loaded |
//! | `program` | the function around the site |
//! | `callers` | those around that |
//! | `batch` | many programs in one file, run before and after |

mod batch;
mod callers;
mod class;
mod dependency;
mod entry;
mod high_bits;
mod pad;
mod pen;
mod program;
mod range;
mod reader;
mod saved;
mod site;

pub use batch::{Batch, Counted, Different, Outcome};
pub use class::{CLASSES, Class, Form, Row, Shown};
pub use pen::Linking;
pub use program::{Program, program};
pub use site::Kind;

/// The variants once, as an enumeration and as a list of all.
macro_rules! enumeration {
    ($(#[$attribute:meta])* $name:ident, $all:ident, $($variant:ident)*) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the names say it, and the modules that insert them")]
        pub enum $name {
            $($variant),*
        }

        /// All of them.
        pub const $all: [$name; [$(stringify!($variant)),*].len()] = [$($name::$variant),*];
    };
}

enumeration! {
    /// Something in the surroundings of a site.
    Around, AROUND,
    AddedToPointer
    AddressReader
    CacheMaintenance
    CalleeReader
    ComputedInData
    DataInText
    EntryAtBarrier
    EntryCall
    EntryOfColdPart
    EntryOfOtherFunction
    EntryOfSameFunction
    HighBitsArgument
    HighBitsCall
    HighBitsJoin
    HighBitsKnown
    HighBitsLoaded
    HighBitsOverwritten
    HighBitsSystemCall
    IndexReader
    IndirectCall
    KeptByCaller
    KeptByCallersCaller
    LinkReader
    OperandReader
    PlainReader
    PreserveMost
    ScalableReader
    ShrinkWrapped
    StillArmed
    SystemCall
    TableInData
    TableInText
    TailCall
    Veneer
    WaitsForEvent
    WritableCode
}

/// What is recorded of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// A program's site starts here.
    Site,
    /// This word must stay as it is.
    Kept,
    /// With another word here the program must leave something else: what surrounds the site counts when it runs.
    Evidence,
}

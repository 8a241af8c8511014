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
//! | `entry` | what enters the sequence from elsewhere |
//! | `program` | the function around the site |
//! | `callers` | those around that |
//! | `batch` | many programs in one file, run before and after |

mod batch;
mod callers;
mod entry;
mod high_bits;
mod pen;
mod program;
mod reader;
mod site;

pub use batch::{Batch, Different, Outcome};
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
    AddressReader
    CacheMaintenance
    CalleeReader
    DataInText
    EntryAdr
    EntryAtBarrier
    EntryBranch
    EntryCall
    EntryLiteralPool
    EntryMoves
    EntryOfColdPart
    EntryOfOtherFunction
    EntryOfSameFunction
    EntryPage
    EntryPointer
    EntryShortPointer
    EntrySum
    EntryTable16
    EntryTable32
    EntryTable64
    EntryTable8
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
}

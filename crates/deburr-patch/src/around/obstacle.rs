//! Patch stage: the reasons that the file around a site gives to leave it as it is.

use deburr_core::address::Svma;
use std::fmt;

/// The obstacle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Obstacle {
    /// Something goes to, or points to, an instruction inside.
    Entered,
    /// An indirect jump of its function may go anywhere.
    UnknownJump,
    /// It is data.
    Data,
    /// The code there is writable.
    Writable,
    /// `wfe`, `sevl` or their like may wait for the monitor.
    Event,
    /// A relocation changes or describes the instructions.
    Relocated,
    /// A compare-and-swap at an address in read-only data, which LSE writes to even where it fails.
    ReadOnly,
    /// A store-exclusive after a path out relies on the monitor.
    StillArmed,
    /// Cache maintenance, or the like, needs the barrier.
    Ordered,
    /// The kernel, a tracer or a table of the program's own knows its instructions by their addresses.
    Described,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obstacle::Entered => "something branches or points into it",
            Obstacle::UnknownJump => "an indirect jump of its function may go into it",
            Obstacle::Data => "data is there",
            Obstacle::Writable => "its code is writable, and may change while it runs",
            Obstacle::Event => "wfe near it or after it may use the monitor as a source of events",
            Obstacle::Relocated => "relocations describe its words",
            Obstacle::ReadOnly => "it is on read-only data, where LSE would fault",
            Obstacle::StillArmed => "a store-exclusive after an exit relies on its load-exclusive",
            Obstacle::Described => "a table of the file tells others where its instructions are",
            Obstacle::Ordered => "the file has cache maintenance, which only a barrier orders",
        })
    }
}

/// Where an obstacle is, or what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Detail {
    /// A branch, or an indirect jump.
    Branch(Svma),
    /// An instruction that makes the address.
    Address(Svma),
    /// A place in data that holds the address.
    Value(Svma),
    /// A relocation, or an entry for the loader.
    Pointer,
    /// A symbol.
    Symbol,
    /// The unwind tables.
    Unwind,
    /// A function begins there.
    Start,
    /// An instruction.
    At(Svma),
    /// A general register, by number.
    Register(u8),
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::Branch(from) => write!(f, "from {from}"),
            Detail::Address(at) => write!(f, "its address is made at {at}"),
            Detail::Value(at) => write!(f, "its address is in data at {at}"),
            Detail::Pointer => write!(f, "a relocation has its address"),
            Detail::Symbol => write!(f, "a symbol has its address"),
            Detail::Unwind => write!(f, "the unwind tables have its address"),
            Detail::Start => write!(f, "a function begins there"),
            Detail::At(at) => write!(f, "at {at}"),
            Detail::Register(number) => write!(f, "x{number}"),
        }
    }
}

/// An obstacle, and where it is.
pub(crate) type Found = (Obstacle, Option<Detail>);

//! How much a package may hold, so that no package takes all memory or all time.
//!
//! Each limit has an option of the command, which messages name. [`crate::codec`] and the reader check them.

/// How much a package may hold. Whatever goes beyond is a fault, with the option's name in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Packages within packages.
    pub depth: u32,
    /// Members, all levels together.
    pub members: u64,
    /// Bytes of one binary, or of all that a package needs in memory at the same time.
    pub member_bytes: u64,
    /// Bytes that all decoders give together.
    pub unpacked_bytes: u64,
    /// How many times its own size a compressed stream, a sparse file or, with 1 KiB for each member, a whole package may become, once that is
    /// more than 64 MiB.
    pub ratio: u64,
}

/// A stream that gives less is no bomb, whatever its ratio.
const HARMLESS: u64 = 64 << 20;
/// Bytes that a member counts as, since each costs time.
const MEMBER: u64 = 1 << 10;

impl Limits {
    /// Whether so many bytes are too much to have come out of so few.
    pub(crate) fn is_bomb(&self, unpacked: u64, packed: u64) -> bool {
        unpacked > HARMLESS && unpacked / self.ratio.max(1) > packed
    }

    /// What is said of such bytes.
    pub(crate) fn of_bomb(&self) -> String {
        format!("unpacks to more than {} times its size (--max-ratio)", self.ratio)
    }

    /// Whether so many members are too many to be in a package of so few bytes: archives within archives, each compressed.
    pub(crate) fn are_too_many(&self, members: u64, packed: u64) -> bool {
        self.is_bomb(members.saturating_mul(MEMBER), packed)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { depth: 8, members: 1_000_000, member_bytes: 2 << 30, unpacked_bytes: 64 << 30, ratio: 200 }
    }
}

//! What a thread does in addition to the kernel's work: delays between operations, and inside a critical section.
//!
//! In: lengths in iterations of the delay loop. Out: [`Work`], which the assembly reads. The loop is `dec; jns` or `subs; b.pl`,
//! about a cycle an iteration; [`crate::bench::pace`] measures what it takes.

use super::block::{BLOCK, Block};

/// Delays between operations; after the last one comes the first again.
pub const DELAYS: usize = 256;

/// The lengths of delays. The assembly knows the offsets.
#[repr(C)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Iterations inside a critical section, less one.
    pub section: u32,
    /// Whether there are delays between operations: 0 or 1.
    pub thinks: u32,
    /// What the one in the critical section may compute on.
    pub block: &'static Block,
    /// Iterations after each operation, less one.
    pub delays: [u32; DELAYS],
}

impl Work {
    /// Operations one after the other, with nothing in a critical section.
    pub const NONE: Work = Work { section: 0, thinks: 0, block: &BLOCK, delays: [0; DELAYS] };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_assembly_reads_the_fields_where_they_are() {
        assert_eq!(offset_of!(Work, section), 0);
        assert_eq!(offset_of!(Work, thinks), 4);
        assert_eq!(offset_of!(Work, block), 8);
        assert_eq!(offset_of!(Work, delays), 16);
    }
}

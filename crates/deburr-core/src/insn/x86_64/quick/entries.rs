//! The entries of the table by context, opcode and ModRM.

use super::layout::{BY_MODRM, CODE_SHIFT, Context, SLOW};
use super::table::{BY_FIELDS, ROW_OF, ROWS, RUNS};

/// How many entries there are, rounded up to a power of two, so that no bounds are checked.
const ENTRIES: usize = (ROWS * 256).next_power_of_two();
const FIELDS: usize = BY_FIELDS.len().next_power_of_two();

/// The entries of all rows.
#[expect(clippy::indexing_slicing, reason = "evaluated while compiling, where a bad index is an error")]
static ENTRY: [u32; ENTRIES] = {
    let mut all = [SLOW; ENTRIES];
    let (mut run, mut at) = (0, 0);
    while run < RUNS.len() {
        let mut count = RUNS[run].0;
        while count > 0 {
            all[at] = RUNS[run].1;
            (at, count) = (at + 1, count - 1);
        }
        run += 1;
    }
    assert!(at == ROWS * 256);
    all
};

#[expect(clippy::indexing_slicing, reason = "evaluated while compiling, where a bad index is an error")]
static BY_FIELD: [u32; FIELDS] = {
    let mut all = [SLOW; FIELDS];
    let mut at = 0;
    while at < BY_FIELDS.len() {
        all[at] = BY_FIELDS[at];
        at += 1;
    }
    all
};

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the mask keeps the index inside the array")]
fn in_row(row: usize, opcode: u8) -> u32 {
    ENTRY[(row << 8 | usize::from(opcode)) & (ENTRIES - 1)]
}

/// The entry of an opcode in a context.
#[expect(clippy::indexing_slicing, reason = "contexts are below their number")]
pub(super) fn in_context(context: Context, opcode: u8) -> u32 {
    in_row(usize::from(ROW_OF[context.number()]), opcode)
}

/// The entry that an entry selects by ModRM; others select themselves.
#[expect(clippy::indexing_slicing, reason = "masked index, below the length of the table")]
pub(super) fn by_fields(entry: u32, selector: usize) -> u32 {
    if entry & BY_MODRM == 0 {
        return entry;
    }
    BY_FIELD[((entry >> CODE_SHIFT) as usize * 16 + selector) & (FIELDS - 1)]
}

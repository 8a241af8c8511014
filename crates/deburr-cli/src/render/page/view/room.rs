//! How much a page holds: it must open quickly, whatever was checked. What had no room is counted, and the page says so.

use serde_json::{Value, json};

/// Findings of a run, and of one file.
const FINDINGS: (u64, u64) = (100_000, 25_000);
/// Functions above the first level; of a comparison, those that differ.
const FUNCTIONS: (u64, u64) = (100_000, 20_000);
/// Instructions.
const INSNS: (u64, u64) = (200_000, 30_000);
/// Instructions listed of each file of many: most have no findings, and the first should not take all.
const INSNS_OF_MANY: u64 = 2_000;
/// Files are few up to this number.
const FEW: usize = 4;
/// Files that were not checked are named up to this number.
pub(crate) const SKIPPED: usize = 1_000;

/// How many instructions the core is to list of a file. `files`: how many there are; `None`: nobody knows.
pub(crate) fn insns_of_file(files: Option<usize>) -> usize {
    let bound = if files.is_some_and(|files| files <= FEW) { INSNS.1 } else { INSNS_OF_MANY };
    bound as usize
}

/// The room for one kind of thing.
pub(crate) struct Room {
    left: u64,
    of_file: u64,
    left_out: u64,
}

impl Room {
    /// How many of so many have room.
    pub(crate) fn take(&mut self, wanted: usize) -> usize {
        let wanted = wanted as u64;
        let given = wanted.min(self.of_file).min(self.left);
        self.left -= given;
        self.left_out += wanted - given;
        given as usize
    }

    /// Whether all of so many have room, which is taken; otherwise one thing is left out.
    pub(crate) fn take_all(&mut self, wanted: usize) -> bool {
        let has_room = wanted as u64 <= self.left.min(self.of_file);
        match has_room {
            true => self.left -= wanted as u64,
            false => self.left_out += 1,
        }
        has_room
    }

    /// Counts what was left out elsewhere.
    pub(crate) fn leave_out(&mut self, count: u64) {
        self.left_out += count;
    }
}

/// The room of a page.
pub(crate) struct Rooms {
    pub(crate) findings: Room,
    pub(crate) functions: Room,
    /// In instructions; what is left out is counted in functions.
    pub(crate) code: Room,
}

impl Default for Rooms {
    fn default() -> Rooms {
        let room = |(left, of_file)| Room { left, of_file, left_out: 0 };
        Rooms { findings: room(FINDINGS), functions: room(FUNCTIONS), code: room(INSNS) }
    }
}

impl Rooms {
    /// What was left out, and the bounds.
    pub(crate) fn value(&self) -> Value {
        let of = |room: &Room, (run, file): (u64, u64)| json!({"left_out": room.left_out, "of_run": run, "of_file": file});
        json!({
            "findings": of(&self.findings, FINDINGS),
            "functions": of(&self.functions, FUNCTIONS),
            "code": of(&self.code, INSNS),
        })
    }
}

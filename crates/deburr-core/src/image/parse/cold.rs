//! Which names have `.cold` in them, as those of parts have that compilers split off.
//!
//! In: a string table, and where names begin in it. Out: whether each has it. The table is searched once, so that no name
//! has to be read: the work is linear in its length.

use crate::image::name::LIMIT;
use memchr::{memmem, memrchr};

const COLD: &[u8] = b".cold";

/// Where a string table has the word.
pub(crate) struct ColdNames {
    /// Where the string begins that has it, and where it is; by the latter.
    found: Vec<(usize, usize)>,
    /// The first that is not before the name that was looked up last: the next name is often near.
    next: usize,
}

impl ColdNames {
    /// Searches a table.
    pub(crate) fn of(strings: &[u8]) -> ColdNames {
        let mut found: Vec<(usize, usize)> = Vec::new();
        for at in memmem::find_iter(strings, COLD) {
            let (string, last) = found.last().copied().unwrap_or_default();
            let between = strings.get(last..at).unwrap_or(&[]);
            found.push((memrchr(0, between).map_or(string, |zero| last + zero + 1), at));
        }
        ColdNames { found, next: 0 }
    }

    /// Whether the name that begins at an offset has it.
    pub(crate) fn has(&mut self, name: usize) -> bool {
        let before = self.next.checked_sub(1).and_then(|before| self.found.get(before));
        let is_near = before.is_none_or(|&(_, at)| at < name)
            && self.found.get(self.next).is_none_or(|&(_, at)| name <= at);
        if !is_near {
            self.next = self.found.partition_point(|&(_, at)| at < name);
        }
        let word = self.found.get(self.next);
        word.is_some_and(|&(string, at)| string <= name && at - name + COLD.len() <= LIMIT)
    }
}

/// Whether a name has it.
pub(crate) fn is_cold(name: &str) -> bool {
    memmem::find(name.as_bytes(), COLD).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_what_follows_before_its_end() {
        let strings = b"\0f\0g.cold\0h.colder.cold.1\0i\0j.cold";
        let mut cold = ColdNames::of(strings);
        let starts = (0..strings.len()).chain((0..strings.len()).rev());
        for start in starts {
            let name = strings[start..].split(|&byte| byte == 0).next().unwrap();
            assert_eq!(cold.has(start), is_cold(std::str::from_utf8(name).unwrap()), "{start}");
        }
    }
}

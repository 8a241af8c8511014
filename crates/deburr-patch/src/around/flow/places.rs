//! Patch stage: a set of places in code.

use deburr_core::address::CodeOffset;

/// Some places of a file, as one bit a place. Only pages that have one take memory: a small file may state addresses gigabytes apart.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pages: Vec<Option<Box<Page>>>,
}

/// The bits of 64 KiB of code.
type Page = [u64; 256];

impl Places {
    pub(crate) fn contains(&self, at: CodeOffset) -> bool {
        let (page, word, bit) = place(at);
        let page = self.pages.get(page).and_then(Option::as_ref);
        page.and_then(|page| page.get(word)).is_some_and(|word| word & bit != 0)
    }

    /// Puts a place in; whether it is new.
    pub(crate) fn insert(&mut self, at: CodeOffset) -> bool {
        let (page, word, bit) = place(at);
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages.get_mut(page).map(|page| page.get_or_insert_with(|| Box::new([0; 256])));
        page.and_then(|page| page.get_mut(word)).is_some_and(|word| {
            let is_new = *word & bit == 0;
            *word |= bit;
            is_new
        })
    }
}

/// The page of an offset, the word in it, and its bit.
const fn place(at: CodeOffset) -> (usize, usize, u64) {
    ((at.0 >> 16) as usize, (at.0 >> 8 & 255) as usize, 1 << (at.0 >> 2 & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_gigabytes_apart_take_a_page_each() {
        let mut places = Places::default();
        let some = [4, 0x1_0000, 0xffff_fffc].map(CodeOffset);
        assert_eq!(some.map(|at| places.insert(at)), [true; 3]);
        assert_eq!(some.map(|at| places.insert(at)), [false; 3]);
        assert_eq!(some.map(|at| places.contains(at)), [true; 3]);
        assert_eq!([0, 8, 0x1_0004, 0xffff_fff8].map(|at| places.contains(CodeOffset(at))), [false; 4]);
        assert_eq!(places.pages.iter().flatten().count(), 3);
    }
}

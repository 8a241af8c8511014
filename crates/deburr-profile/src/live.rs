//! What has its addresses in the end, where addresses are used again: the later function counts, and what it covers in part is gone.

use std::collections::BTreeMap;

/// Functions by address; none overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Live {
    /// By the first address: the end, and the number of the function.
    functions: BTreeMap<u64, (u64, usize)>,
}

impl Live {
    /// A function has addresses from now on. One without any bytes has none.
    pub(crate) fn put(&mut self, start: u64, end: u64, function: usize) {
        if start >= end {
            return;
        }
        while let Some((&before, &(before_end, _))) = self.functions.range(..end).next_back()
            && before_end > start
        {
            self.functions.remove(&before);
        }
        self.functions.insert(start, (end, function));
    }

    /// The function that begins at an address.
    pub(crate) fn at(&self, start: u64) -> Option<usize> {
        self.functions.get(&start).map(|(_, function)| *function)
    }

    /// Takes the function that begins at an address away: its size and its number.
    pub(crate) fn take(&mut self, start: u64) -> Option<(u64, usize)> {
        self.functions.remove(&start).map(|(end, function)| (end - start, function))
    }

    /// The function that has an address, and the offset in it.
    pub(crate) fn find(&self, address: u64) -> Option<(usize, u64)> {
        let (start, (end, function)) = self.functions.range(..=address).next_back()?;
        (address < *end).then(|| (*function, address - start))
    }

    /// Where functions are, and their numbers, by address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, usize)> {
        self.functions.iter().map(|(start, (_, function))| (*start, *function))
    }
}

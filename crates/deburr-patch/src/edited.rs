//! Patch stage: a file with other bytes in some places and more at its end, without a copy of the rest.
//!
//! In: the original, what is written over it, what is appended. Out: the new file piece by piece, which may
//! be larger than the memory that is left next to the original.

/// A file, as what differs from the one that it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited<'a> {
    original: &'a [u8],
    /// Bytes by their place, in order, without overlap, inside of the original.
    edits: Vec<(usize, Vec<u8>)>,
    appended: Vec<u8>,
}

/// The file as it is.
impl<'a> From<&'a [u8]> for Edited<'a> {
    fn from(original: &'a [u8]) -> Edited<'a> {
        Edited { original, edits: Vec::new(), appended: Vec::new() }
    }
}

impl<'a> Edited<'a> {
    /// Edits in any order; `None` where two overlap or one goes beyond the end.
    pub(crate) fn new(
        original: &'a [u8],
        mut edits: Vec<(usize, Vec<u8>)>,
        appended: Vec<u8>,
    ) -> Option<Edited<'a>> {
        edits.sort_unstable_by_key(|(at, _)| *at);
        let mut end = 0;
        for (at, bytes) in &edits {
            (*at >= end).then_some(())?;
            end = at.checked_add(bytes.len())?;
        }
        (end <= original.len()).then_some(Edited { original, edits, appended })
    }

    /// Its bytes from the first to the last, in pieces of any length.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.edits.iter().map(|(at, bytes)| at.saturating_add(bytes.len()));
        let starts = [0].into_iter().chain(ends);
        let next = self.edits.iter().map(|(at, _)| *at).chain([self.original.len()]);
        let kept = starts.zip(next).map(|(start, end)| self.original.get(start..end).unwrap_or_default());
        let new = self.edits.iter().map(|(_, bytes)| &**bytes).chain([&*self.appended]);
        kept.zip(new).flat_map(|(kept, new)| [kept, new])
    }

    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        (self.original.len() as u64).saturating_add(self.appended.len() as u64)
    }

    /// All of its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.original.len().saturating_add(self.appended.len()));
        self.pieces().for_each(|piece| all.extend_from_slice(piece));
        all
    }

    /// Where some bytes begin to be others than its own, in bytes from their start; `None` where they are the
    /// same. `release` gets what has been compared, run after run: the caller may let go of it.
    pub fn first_difference(&self, other: &[u8], release: impl Fn(&[u8])) -> Option<u64> {
        /// Bytes that are released together.
        const RUN: usize = 16 << 20;
        let (mut compared, mut released) = (0, 0);
        for piece in self.pieces().flat_map(|piece| piece.chunks(RUN)) {
            let rest = other.get(compared..).unwrap_or_default();
            if !rest.starts_with(piece) {
                let equal = piece.iter().zip(rest).take_while(|(one, other)| one == other).count();
                return Some(compared.saturating_add(equal) as u64);
            }
            compared = compared.saturating_add(piece.len());
            if compared.saturating_sub(released) >= RUN {
                release(other.get(released..compared).unwrap_or_default());
                released = compared;
            }
        }
        release(other.get(released..).unwrap_or_default());
        (compared < other.len()).then_some(compared as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn pieces_are_the_original_with_its_edits_and_its_end() {
        let edits = vec![(6, b"GH".to_vec()), (0, b"AB".to_vec()), (2, b"C".to_vec())];
        let edited = Edited::new(b"abcdefgh", edits, b"ij".to_vec()).unwrap();
        assert_eq!(edited.to_vec(), b"ABCdefGHij");
        assert_eq!(Edited::new(b"abc", Vec::new(), Vec::new()).unwrap().to_vec(), b"abc");
    }

    #[test]
    fn edits_that_overlap_or_do_not_fit_are_none() {
        let edits = |edits: &[(usize, &str)]| {
            let edits = edits.iter().map(|(at, bytes)| (*at, bytes.as_bytes().to_vec())).collect();
            Edited::new(b"abcd", edits, Vec::new())
        };
        assert_eq!(edits(&[(1, "xy"), (2, "z")]), None);
        assert_eq!(edits(&[(3, "xy")]), None);
        assert_eq!(edits(&[(usize::MAX, "x")]), None);
        assert!(edits(&[(0, "x"), (1, "y"), (3, "z")]).is_some());
    }

    #[test]
    fn differences_are_found_in_every_part_and_all_is_released() {
        let edited = Edited::new(b"abcdef", vec![(2, b"XY".to_vec())], b"gh".to_vec()).unwrap();
        let released = Cell::new(0);
        let difference =
            |other: &[u8]| edited.first_difference(other, |run| released.set(released.get() + run.len()));
        assert_eq!((difference(b"abXYefgh"), released.get()), (None, 8));
        let others = [b"bbXYefgh", b"abXyefgh", b"abXYeFgh", b"abXYefgH"];
        assert_eq!(others.map(|other| difference(other)), [Some(0), Some(3), Some(5), Some(7)]);
        assert_eq!((difference(b"abX"), difference(b"abXYefghi")), (Some(3), Some(8)));
    }
}

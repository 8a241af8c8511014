//! What code tests of a word.

/// What a test makes of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Test {
    /// Any of some bits.
    Bits(u64),
    /// A comparison with a number.
    Number(u64),
}

impl Test {
    /// The same of a word whose bytes begin so many before. `None` if nothing of the word is tested.
    pub(crate) fn shifted(self, bytes: u32) -> Option<Test> {
        match self {
            Test::Bits(mask) => mask.checked_shl(bytes.checked_mul(8)?).map(Test::Bits),
            Test::Number(_) => (bytes == 0).then_some(self),
        }
    }
}

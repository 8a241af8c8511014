//! Every executable byte, accounted for: decoded + data + undecoded = executable.

/// The account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    /// All bytes of [`crate::image::Image::code`].
    pub executable: u64,
    /// Bytes of instructions.
    pub decoded: u64,
    /// Bytes known to be data.
    pub data: u64,
    /// Bytes that are neither.
    pub undecoded: u64,
}

impl Coverage {
    /// Whether the account adds up. If it does not, deburr is at fault, not the file.
    pub const fn adds_up(&self) -> bool {
        self.decoded + self.data + self.undecoded == self.executable
    }
}

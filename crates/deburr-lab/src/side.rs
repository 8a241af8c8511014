//! Which of the two that are compared: A, what there was, or B, what may be better.
//!
//! Measuring, records and statistics all name sides by this type. In records it is `a` or `b`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One of the two that are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// What there was.
    #[default]
    A,
    /// What may be better.
    B,
}

impl Side {
    /// Both.
    pub const BOTH: [Side; 2] = [Side::A, Side::B];

    /// 0 and 1.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["A", "B"][self.index()])
    }
}

//! Patch stage, audit, evaluate: what is asked, and the form of the answer.

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Manner {
    /// A load-exclusive/store-exclusive sequence and one atomic, which may be tried again after a plain load.
    Exclusives {
        /// Whether it may.
        may_retry: bool,
    },
    /// The two arms of a choice at run time: neither their order nor the flags that they leave matter, as such a CPU takes
    /// the atomic already, and a call leaves flags undefined.
    Arms,
    /// Plain loads, in one order.
    Loads,
}

impl Manner {
    pub(crate) fn may_retry(self) -> bool {
        matches!(self, Manner::Exclusives { may_retry: true })
    }
}

/// What is known of a register where both sides begin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Known {
    /// Its number, 0 to 30.
    pub register: u8,
    /// Its bits from this one on are zero.
    pub zero_from: u8,
}

/// How many states are tried.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// With values at the ends of each size only.
    pub boundary: u64,
    /// With values from a pool.
    pub random: u64,
    /// How many of the latter more, until every decision was taken and not taken.
    pub more: u64,
}

impl Effort {
    /// What a plan takes: an evaluation of a usual sequence in some milliseconds. A quarter of it refuses all flipped
    /// bits that the prover refuses, in all shapes (`tests/patch/evaluated.rs`).
    pub const PLAN: Effort = Effort { boundary: 256, random: 768, more: 16_384 };
}

/// Registers that must not be read after an exit, as their values differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Need {
    /// The exit, in instructions from the first that is replaced.
    pub exit: i64,
    /// Bit n is xn.
    pub registers: u32,
}

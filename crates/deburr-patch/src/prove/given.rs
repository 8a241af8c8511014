//! Patch stage: what is known of registers around a sequence, beyond its own instructions.
//!
//! [`Given`] narrows the states that a proof begins with, [`Dead`] takes registers out of what it compares.
//! Neither is checked here: the surroundings of the sequence in its file show them (`around`).

/// What is known of a register where a sequence begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Given {
    /// Its number, 0 to 30.
    pub register: u8,
    /// Its bits from this one on are zero.
    pub zero_from: u8,
}

/// Registers that nothing reads any more where the sequences are left at one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dead {
    /// Where, in instructions from the sequence's first; a place inside the sequence is none.
    pub exit: i64,
    /// Bit n is xn, up to x30.
    pub registers: u32,
}

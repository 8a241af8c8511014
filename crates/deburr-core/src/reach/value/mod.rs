//! Abstract values: what a register or a word of memory may hold.
//!
//! [`pool`] interns them, and remembers joins. [`arithmetic`] says what an operation makes of two of them, [`condition`] which
//! outcomes a test can have. [`region`] is where the numbers are that stand for addresses.

pub(crate) mod arithmetic;
pub(crate) mod condition;
pub(crate) mod limits;
pub(crate) mod pool;
pub(crate) mod region;
#[cfg(test)]
mod tests;

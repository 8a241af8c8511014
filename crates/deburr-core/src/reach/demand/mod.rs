//! Demand: which functions the question is about.
//!
//! In: what code names and does, function by function. Out: for each function whether it leads to an instruction above the first level,
//! asks what the CPU is, or reads what such a function keeps. All others are *beside* the question: they compute nothing that the CPU
//! decides, so a call of one is what a call of another file's function is, unless it is handed something that leads back.

mod graph;
mod limits;
mod marks;

pub(crate) use marks::{Beside, Demand};

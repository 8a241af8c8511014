//! Demand: which functions are relevant to the question whether code above the first level is live.
//!
//! In: what code names and does, function by function. Out: the relevant functions. A function is relevant if it leads to an instruction
//! above the first level, leads to a query of the CPU, or names data that those name which lead to a query. An irrelevant function
//! computes nothing that the CPU decides; a call of it is opaque, like a call of another file's function.

mod graph;
mod limits;
mod relevance;

pub(crate) use relevance::{Demand, Irrelevant};

//! The measuring of `deburr compare`: commands in, records of their runs out. It knows no statistics.
//!
//! | question | module |
//! |---|---|
//! | what did one run of a process take | [`process`] |
//! | what did the machine do meanwhile, and is it quiet | [`machine`] |
//! | what did the run print | [`metric`] |
//! | how many instructions did it execute, without counters of the processor | [`valgrind`] |
//! | which side comes first in a pair | [`schedule`] |
//! | what are clients run against | [`server`] |
//! | what has something used that still runs | `tree` |
//! | what is known of a run, on disk | [`record`] |
//! | which machine and which programs were that | [`provenance`] |
//! | does somebody want to stop, and how much | [`stop`] |
//! | what is to be measured, and why could it not be | [`experiment`] |
//! | one run: prepared, waited for, measured, written down | `bench` |
//! | the same command at several layouts | [`layouts`] |
//! | pair after pair, until somebody has seen enough | [`pairs`] |
//!
//! The unit is one run of a process. Runs come in pairs, one of each side, in random order.

pub(crate) mod bench;
pub mod experiment;
pub mod layouts;
pub mod machine;
pub mod metric;
pub mod pairs;
pub mod process;
pub mod provenance;
pub mod record;
pub mod schedule;
pub mod server;
pub mod stop;
mod tree;
pub mod valgrind;

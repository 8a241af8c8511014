//! The measuring of `deburr compare`: commands in, records of their runs out. It knows no statistics.
//!
//! | question | module |
//! |---|---|
//! | what did one run of a process take | [`process`] |
//! | what did the machine do meanwhile, and is it quiet | [`machine`] |
//! | what did the run print | [`metric`] |
//! | which side comes first in a pair | [`schedule`] |
//! | what are clients run against | [`server`] |
//! | what is known of a run, on disk | [`record`] |
//! | pair after pair, until somebody has seen enough | [`experiment`] |
//!
//! The unit is one run of a process. Runs come in pairs, one of each side, in random order.

pub mod experiment;
pub mod machine;
pub mod metric;
pub mod process;
pub mod record;
pub mod schedule;
pub mod server;

//! Records where a command, or a process that runs, spends its time: `perf record` and what it needs.
//!
//! [`event`] finds out what can be sampled on this machine, before anything runs. [`perf`] runs the program `perf`, and with it the
//! command; [`sides`] does so for both sides of an experiment. What `perf` writes is read elsewhere (`deburr-profile`).

pub mod event;
pub mod perf;
pub mod sides;

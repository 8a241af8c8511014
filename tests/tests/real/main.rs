//! deburr on real input: programs compiled here, packages of the distribution, wheels, and other tools as the judges.
//!
//! One program for all, so that it is linked once and its tests fill all CPUs until the last is done. Each folder is a part of
//! deburr: `cargo test -p deburr-tests fix::` runs what is about `deburr fix`.

mod bench;
mod bench_page;
mod browser;
mod check;
mod compare;
mod fix;
mod reach;
mod session;
mod skill;
mod tutorials;

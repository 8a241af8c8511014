//! `deburr compare`: its page in a browser, and its account of a run.

mod measured;
mod page;

//! What the loader of a system reads of a file: which libraries it needs, and with which pages it can be mapped.

pub mod needed;
pub mod pages;

//! Atomic operations on a word that threads may share: those of the published tables, MySQL bug #100664.

pub(super) mod compare_and_swap;
pub(super) mod exchange;
pub(super) mod failing_compare_and_swap;
pub(super) mod fence;
pub(super) mod fetch_add;
pub(super) mod fetch_or;
pub(super) mod handover;
pub(super) mod load;
pub(super) mod reader_lock;
pub(super) mod store;

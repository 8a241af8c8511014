//! Spin loops: what they wait for, and how.
//!
//! In: the short loops and the marks of a sweep. Out: [`Wait`]s, loops that load until memory changes and never pause;
//! [`Retry`]s, loops that try an atomic operation until it succeeds; [`Hint`]s, `yield`s in loops;
//! and [`EventWait`]s, `wfe`s in loops that no event ends.
//!
//! A loop waits if nothing that it computes in one iteration reaches the next, except a counter, and it stores nothing.
//! A later iteration can then differ from the first only by what another processor did. That is proven on the
//! control-flow graph: loops that only look alike (searches, lists, delays) are a thousand times as many.

mod cycle;
mod event;
mod flow;
mod hint;
mod retry;
mod wait;

pub use event::{EventWait, event_waits};
pub use hint::{Hint, Purpose, hints};
pub use retry::{Means, Retry, retries};
pub use wait::{Sign, Wait, waits};

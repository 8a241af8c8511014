//! Idioms: shapes of code that one or two rules search for, one detector a file.
//!
//! In: an image and its functions. Out: places in code, with what a rule says of them. Nothing here is part of the
//! program model, and no detector knows another's rule.

pub mod counted;
pub mod crc;
pub mod dispatch;
pub mod fence;
pub mod forwarding;
pub mod popcount;
pub mod privileged;
pub mod repeated;
pub mod shape;
pub mod slow_lse;
pub mod small_loop;
pub mod split_frame;
pub mod store_form;

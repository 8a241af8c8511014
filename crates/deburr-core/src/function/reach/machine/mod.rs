//! The abstract machine: what instructions, blocks and functions make of a state of the domain.
//!
//! [`transfer`] is the transfer function of one instruction; what others can see of it goes to the sink of [`effects`].
//! [`interpret`] runs a function by a worklist over its blocks: states join where paths meet, and widen where loops go
//! on. [`queries`] says what instructions and functions answer that say something of the CPU, and [`trap`] what happens
//! where the CPU lacks one. Calls are run, or stand for their [`summaries`]. Nielson, Nielson and Hankin, *Principles
//! of Program Analysis*, chapters 2 and 4, and 2.5 for calls.

pub(crate) mod effects;
pub(crate) mod interpret;
pub(crate) mod memory;
pub(crate) mod queries;
pub(super) mod serializing;
pub(crate) mod summaries;
pub(crate) mod transfer;
pub(crate) mod trap;

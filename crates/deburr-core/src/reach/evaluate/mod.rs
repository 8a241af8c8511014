//! Evaluation: the program on a model, function by function and block by block.
//!
//! [`state`] is what is known at a place of a function. [`run`] has the nodes: a block in a context, where a context is a function
//! with the constants that it is called with. [`step`] is the transfer function of an operation, [`access`] what it loads and
//! stores, [`control`] where control goes from a block, [`calls`] between functions, [`imports`] what other files' functions do.
//! [`irrelevant`] has opaque calls. [`certainty`] says at the end which blocks are certain. [`escape`] follows addresses that go out of sight.

mod access;
mod arguments;
mod calls;
mod certainty;
mod control;
mod escape;
mod imports;
mod irrelevant;
pub(crate) mod limits;
mod liveness;
pub(crate) mod run;
pub(crate) mod state;
mod step;

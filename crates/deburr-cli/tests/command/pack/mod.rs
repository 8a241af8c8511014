//! `deburr pack`, by step.

mod assemble;
mod build;
mod dist;
mod select;

//! `deburr pack`, by step.

mod assemble;
mod build;
mod deb;
mod dist;
mod measure;
mod oci;
mod rpm;
mod select;

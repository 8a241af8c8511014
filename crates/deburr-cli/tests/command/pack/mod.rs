//! `deburr pack`, by step.

mod arm64;
mod assemble;
mod build;
mod deb;
mod dist;
mod measure;
mod oci;
mod profile;
mod rpm;
mod select;
mod wheel;

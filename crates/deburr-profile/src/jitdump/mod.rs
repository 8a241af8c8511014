//! Jitdumps: functions that a program made at run time, with their code. [`parse`] reads them for a profile, by address and time;
//! [`image`] makes programs of what is there in the end, which [`elf`] writes.

mod elf;
mod image;
mod parse;

pub use image::{JitImage, JitImages, jit_images};
pub use parse::begins_jitdump;
pub(crate) use parse::{Jitdump, is_jitdump_name};

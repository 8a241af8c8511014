//! One function for each stage that fuzzing drives: bytes → the stage's result, and what must hold of it.
//!
//! In: an input of a fuzz target. The first byte chooses the request, the rest is the file. Out: nothing; what does not hold panics.
//! The fuzz targets, a test of the committed inputs, and whoever looks into one input call the same functions.
//!
//! | stage | from | what must hold |
//! |---|---|---|
//! | [`image`] | an ELF file | all lists sorted and within the code, all bytes where they are stated to be |
//! | [`discover`] | an ELF file | every byte accounted for, functions apart, graphs and loops closed |
//! | [`reach`] | an ELF file | verdicts on functions that need something, fewer where more is permitted |
//! | [`check`] | an ELF file | the report survives JSON, its findings are in code, nothing differs from itself |
//! | [`patch`] | an ELF file | what is written is proven from the two files, and taken back |
//! | [`package`] | a package | limits held; rewritten exactly where something changed |
//! | [`container`] | squashfs, 7z, cpio, ISO 9660, what a program carries | limits held; what is carried is in the program |
//! | [`archive`] | an index of an archive | entries are in the archive, each once; the newest are among all |
//! | [`profile`] | a profile | what was seen adds up, also after merging; lists in order, and indexes that lead somewhere |
//! | [`jit`] | a jitdump | programs of functions that do not overlap, no byte lost, and checked like others |
//! | [`readers`] | a benchmark's report | finite numbers, and tables no longer than they may be |
//! | [`sweep`] | x86-64 code | the sweep by table finds what the one by the full decoder does |

#![forbid(unsafe_code)]

mod archive;
mod check;
mod container;
mod discover;
mod image;
mod input;
mod jit;
mod package;
mod patch;
mod profile;
mod reach;
mod readers;
mod sweep;

pub use archive::archive;
pub use check::check;
pub use container::container;
pub use discover::discover;
pub use image::image;
pub use input::{cross_elf, mutate_elf, on_this_thread};
pub use jit::jit;
pub use package::package;
pub use patch::patch;
pub use profile::profile;
pub use reach::reach;
pub use readers::readers;
pub use sweep::sweep;

/// A stage.
pub type Stage = fn(&[u8]);

/// All stages, by the names of their fuzz targets.
pub const STAGES: [(&str, Stage); 12] = [
    ("image", image),
    ("jit", jit),
    ("discover", discover),
    ("reach", reach),
    ("check", check),
    ("patch", patch),
    ("package", package),
    ("container", container),
    ("archive", archive),
    ("profile", profile),
    ("readers", readers),
    ("sweep", sweep),
];

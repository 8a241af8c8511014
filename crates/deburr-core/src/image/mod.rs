//! The file as a whole: bytes → [`Image`]. The only user of `object`.
//!
//! In: the bytes of an ELF file, and of its debug file if there is one. Out: where the code is, what symbols,
//! unwind tables and relocations say about it, and who built it with what. Nothing is decoded here.
//! Follows the gABI, the x86-64 and AArch64 psABI supplements, and the LSB for `.eh_frame`.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing))]

pub mod archive;
mod chosen;
mod debug_file;
mod debug_sections;
pub mod demangle;
mod elf;
mod error;
pub mod layout;
pub mod lines;
pub mod linkage;
pub mod loading;
mod made;
mod model;
mod name;
mod parse;
mod sorted;

pub use archive::Archive;
pub use chosen::{UseOfName, chosen_by_resolvers, defined_functions, uses_in_code};
pub use debug_file::{WantedDebugFile, build_id_of, debuglink_crc, debuglink_of, wanted_debug_file};
pub use debug_sections::debug_bytes;
pub use demangle::demangle;
pub use error::Error;
pub use lines::SourceLines;
pub use linkage::{Described, Describer, Linkage, described};
pub use loading::needed::{Needed, interpreter, needed};
pub use loading::pages::{Misfit, PAGE_SIZES, Pages, pages};
pub use loading::rights::{Rights, rights};
pub use loading::runtime::{Runtime, STATIC_TLS_RESERVE};
pub use loading::undefined::{NeededVersion, Undefined, needed_versions, undefined};
pub use made::Producers;
pub use model::{
    ArrayKind, BuildFacts, Code, FrameRange, Image, Kind, Loaded, Symbol, SymbolKind, SymbolOrigin, Transfer,
    TransferTarget,
};
pub use name::Name;
pub use parse::beside::{executable_beside_code, functions_beside_code};
pub use parse::build::isa_needed_of;
pub use parse::debug::debug_section;
pub use parse::relocations::relocated_code;

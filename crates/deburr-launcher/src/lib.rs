//! The contract between who packs variants of a program and what chooses one of them at start.
//!
//! In: variants with the features that each needs, and preferences by CPU model. Out: a *table* ([`Table`]), in the
//! format that the C code in `c/` reads in place. The launcher itself is freestanding C (`c/launcher.c`): static, no
//! libc, no heap, no panic. The rule by which it chooses is in one file, `c/deburr_select.c`, which a program can
//! also compile in to choose a library before it opens it by name. The rule is in C, and not in Rust, because that
//! one file must serve programs that have no Rust; and a cross gcc is an ordinary package of a distribution, while
//! Rust's core library for another architecture is not.

mod program;
mod selector;
mod table;
mod words;

pub use program::{is_launcher, launcher, single_file, table_bytes};
pub use selector::{SELECTOR_HEADER, SELECTOR_NAME, SELECTOR_SOURCE, selector};
pub use table::{Build, Model, Table, TableError, Variant, has_prefix};
pub use words::{WORDS, Words, words_of};

//! Two builds of one file → whether what uses the one can use the other.
//!
//! In: the bytes of a library, or of a program that exports names to its plug-ins, at two levels. Out: a [`Verdict`], and nothing in
//! it says more than was seen.
//!
//! | verdict | what it says |
//! |---|---|
//! | [`Verdict::Same`] | the same names with the same versions; data objects of the same sizes; of every exported function and object the same type at both levels, with all types that can be reached from it; and all named types of both are the same |
//! | [`Verdict::Differs`] | a name that only one has, an object of another size, a type with another layout, or a parameter that is passed in another place (x86-64 psABI, 3.2.3: a vector as wide as a register that one level lacks) |
//! | [`Verdict::Unknown`] | no or partial debug information, or what it does not say |
//!
//! *The same* is not shown, and cannot be, of:
//!
//! - values: a macro such as `LANES` that sizes an array behind a `float *`, and what functions do with their arguments. Values of
//!   enumerations are compared;
//! - types of code without debug information (assembly, a static library built without `-g`), where no exported name uses them;
//! - inline functions and templates of a header, of which the library has no copy: a program compiles them for its own level;
//! - the C++ library's own classes that are only declared here: that library is not built by level;
//! - arguments after `...`.
//!
//! A type that is only declared is opaque in C, where all code has debug information: code without it may define the type. In C++, compilers leave out definitions that another file is expected to have, so such
//! a type is unknown unless another unit defines it. A type that differs and that no exported name leads to makes the verdict
//! *unknown*: it may pass through `void *`, `char *`, a callback or a name that `dlsym` finds. Without the library's headers, *differs* may
//! be of a type that only the library uses, behind a pointer: debug information does not say what a header shows.

mod compare;
mod coverage;
mod headers;
mod index;
mod limits;
mod node;
mod sections;
mod symbols;

use compare::{Comparison, Side};
use coverage::has_bare_code;
use deburr_cpu::{Arch, FeatureSet};
use gimli::{Dwarf, EndianSlice, LittleEndian};
pub use headers::Headers;
use index::{Index, Names};
use limits::MAX_REASONS;
use node::Reader;
pub(crate) use sections::is_debug_file_of;
use sections::{Sections, sections};
use std::cell::Cell;
use symbols::{Export, ExportKind, Exports, exports, is_of_the_compiler};

/// One build of a file.
#[derive(Debug, Clone, Copy)]
pub struct Build<'a> {
    /// The level's name.
    pub level: &'a str,
    /// The level's architecture.
    pub arch: Arch,
    /// The level's features.
    pub features: FeatureSet,
    /// The file.
    pub bytes: &'a [u8],
    /// Whether it is a program, whose copies of inline functions are of no matter: who uses one has it.
    pub is_program: bool,
    /// Its separate debug file, if it has one.
    pub debug: Option<&'a [u8]>,
}

/// Whether two builds have the same interface. Each text is one clause for the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is shown that they have.
    Same,
    /// Where they differ.
    Differs(Vec<String>),
    /// Why it is not known.
    Unknown(Vec<String>),
}

/// Compares the interfaces of two builds of one file. With the headers of the library, types that they do not show do not count: that
/// is right where all who use it have only these headers.
pub fn compare(low: &Build<'_>, high: &Build<'_>, headers: Option<&Headers>) -> Verdict {
    let (low_exports, high_exports) = match (names_of(low), names_of(high)) {
        (Ok(low), Ok(high)) => (low, high),
        (Err(reason), _) | (_, Err(reason)) => return Verdict::Unknown(vec![reason]),
    };
    let mut differences = names_that_differ(low, &low_exports, high, &high_exports);
    let mut reasons = Vec::new();
    if !low_exports.is_empty() || !high_exports.is_empty() {
        match (debug_sections(low), debug_sections(high)) {
            (Ok(low_debug), Ok(high_debug)) => {
                let types =
                    types(&(low, &low_exports, &low_debug), &(high, &high_exports, &high_debug), headers);
                differences.extend(types.0);
                reasons = types.1;
            }
            (Err(reason), _) | (_, Err(reason)) => reasons.push(reason),
        }
    }
    differences.truncate(MAX_REASONS);
    match (differences.is_empty(), reasons.is_empty()) {
        (false, _) => Verdict::Differs(differences),
        (_, false) => Verdict::Unknown(reasons),
        _ => Verdict::Same,
    }
}

/// What a build exports that counts.
fn names_of<'a>(build: &Build<'a>) -> Result<Exports<'a>, String> {
    let mut found = exports(build.bytes)?;
    found.retain(|_, export| !(build.is_program && export.is_vague));
    Ok(found)
}

/// Names that one build lacks, and objects of other sizes: a program may have a copy of an object, of the size that it was linked
/// with (`R_X86_64_COPY`).
fn names_that_differ(
    low: &Build<'_>,
    low_names: &Exports<'_>,
    high: &Build<'_>,
    high_names: &Exports<'_>,
) -> Vec<String> {
    let mut found = Vec::new();
    // What is emitted wherever it is used comes and goes with inlining; who needs it has it.
    let lacks = |these: &Exports<'_>, others: &Exports<'_>, level: &str| -> Vec<String> {
        let lacking = these.iter().filter(|(name, export)| !export.is_vague && !others.contains_key(*name));
        lacking.map(|((name, _), _)| format!("{} is only exported at {level}", shown(name))).collect()
    };
    found.extend(lacks(low_names, high_names, low.level));
    found.extend(lacks(high_names, low_names, high.level));
    for ((name, version), export) in low_names {
        let Some(other) = high_names.get(&(*name, *version)) else { continue };
        let is_data = |export: &Export| matches!(export.kind, ExportKind::Object | ExportKind::ThreadObject);
        if is_data(export) != is_data(other) {
            found.push(format!("{} is data at one level and code at the other", shown(name)));
        } else if is_data(export) && export.size != other.size {
            found.push(format!(
                "object {}: {} bytes at {}, {} at {}",
                shown(name),
                export.size,
                low.level,
                other.size,
                high.level
            ));
        }
    }
    found
}

/// The debug information of a build, in the file itself or in a separate one.
fn debug_sections<'a>(build: &Build<'a>) -> Result<Sections<'a>, String> {
    if let Some(own) = sections(build.bytes)? {
        return Ok(own);
    }
    if let Some(debug) = build.debug
        && let Some(separate) = sections(debug)?
    {
        return Ok(separate);
    }
    Err("it has no debug information".to_owned())
}

/// Differences of types, and reasons why they are not known.
fn types<'a>(
    (low, low_exports, low_sections): &(&Build<'a>, &Exports<'a>, &'a Sections<'a>),
    (high, high_exports, high_sections): &(&Build<'a>, &Exports<'a>, &'a Sections<'a>),
    headers: Option<&Headers>,
) -> (Vec<String>, Vec<String>) {
    let dwarf = |sections: &'a Sections<'a>| -> Dwarf<EndianSlice<'a, LittleEndian>> {
        sections.borrow(|section| EndianSlice::new(section, LittleEndian))
    };
    let mut names = Names::default();
    let low_index = Index::of(dwarf(low_sections), low_exports, &mut names);
    let high_index = Index::of(dwarf(high_sections), high_exports, &mut names);
    let (low_index, high_index) = match (low_index, high_index) {
        (Ok(low), Ok(high)) => (low, high),
        (Err(reason), _) | (_, Err(reason)) => return (Vec::new(), vec![reason]),
    };
    let side = |build: &Build<'a>, index| Side {
        level: build.level,
        features: build.features,
        has_bare_code: has_bare_code(build.bytes, index),
        reader: Reader { index, entries_read: Cell::new(0) },
    };
    let mut comparison =
        Comparison::new(side(low, &low_index), side(high, &high_index), low.arch, &names, headers);
    let mut without: Vec<&[u8]> = Vec::new();
    for ((name, version), export) in *low_exports {
        let Some(other) = high_exports.get(&(*name, *version)) else { continue };
        if is_of_the_compiler(name) {
            continue;
        }
        let entry = low_index.exported(name, export.kind, export.address);
        let other_entry = high_index.exported(name, other.kind, other.address);
        match (entry, other_entry) {
            (Some(low), Some(high)) => {
                let is_function = !matches!(export.kind, ExportKind::Object | ExportKind::ThreadObject);
                comparison.exported(&shown(name), is_function, low, high);
            }
            _ => without.push(name),
        }
    }
    comparison.definitions();
    let mut reasons: Vec<String> = Vec::new();
    if let [first, rest @ ..] = without.as_slice() {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        reasons.push(match low_index.is_split || high_index.is_split {
            true => "its types are in other files (-gsplit-dwarf)".to_owned(),
            false => format!("it has no debug information of {}{more}", shown(first)),
        });
    }
    reasons.extend(std::mem::take(&mut comparison.reasons));
    (comparison.differences(), reasons)
}

/// A symbol's name for the reader.
fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

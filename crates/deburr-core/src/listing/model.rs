//! What a listing is: the values that [`listing`](super::listing()) and [`annotate`](super::annotate()) make.

use crate::insn::text::Syntax;
use crate::profile::Share;
use crate::report::{Hex, PlacedFinding, Report, Runtime, SourceLocation};
use serde::Serialize;
use std::sync::Arc;

/// What to show.
#[derive(Debug, Clone, Copy)]
pub struct ListingPlace<'a> {
    /// A function's name, as a symbol or demangled, exact or a part of it, or with `*` and `?`; or the name of a
    /// section, if there is an offset. `None`: the offset is an address.
    pub base: Option<&'a str>,
    /// Bytes from the base; the address itself without one.
    pub offset: Option<u64>,
}

impl<'a> ListingPlace<'a> {
    /// Reads `name`, `name+0x1c` or `0x4a10`; addresses are hexadecimal.
    pub fn parse(text: &'a str) -> ListingPlace<'a> {
        let number = |digits: &str| u64::from_str_radix(digits.strip_prefix("0x")?, 16).ok();
        if let Some(address) = number(text) {
            return ListingPlace { base: None, offset: Some(address) };
        }
        match text.rsplit_once('+').and_then(|(base, offset)| Some((base, number(offset)?))) {
            Some((base, offset)) => ListingPlace { base: Some(base), offset: Some(offset) },
            None => ListingPlace { base: Some(text), offset: None },
        }
    }
}

/// How much to show, and how.
#[derive(Debug, Clone, Copy, Default)]
pub struct View {
    /// How x86-64 is written.
    pub syntax: Syntax,
    /// Instructions on either side of the place; `None`: all of a short function.
    pub context: Option<usize>,
    /// Whether the whole function is shown, however long.
    pub whole: bool,
}

/// What became of the place.
#[derive(Debug, Clone)]
pub enum Shown {
    /// The listing.
    Listing(Box<Listing>),
    /// Several functions, or sections, answer to it.
    Several(Vec<Candidate>),
    /// None does; the names that there are, demangled.
    Nowhere(Vec<String>),
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Candidate {
    /// Its name, demangled; `None` where the file has none for it.
    pub name: Option<String>,
    /// Its address.
    pub svma: Hex,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
    /// Its length in bytes, split-off parts included.
    pub size: u64,
}

/// The instructions of a function, or those around a place in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Listing {
    /// The file, as the user will know it; the caller fills it in.
    pub path: String,
    /// `x86_64` or `aarch64`.
    pub arch: &'static str,
    /// The function.
    pub function: Candidate,
    /// How it was compiled, and what says so; `None` for code of no function, and where that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiled: Option<String>,
    /// What the file takes from its process, or brings to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// How many instructions it has.
    pub instructions: usize,
    /// Those shown, by address; those of split-off parts among them.
    pub insns: Vec<Line>,
    /// How many are left out after the last.
    pub skipped_after: usize,
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Line {
    /// Its address.
    pub svma: Hex,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
    /// How many instructions of the function are left out before it.
    pub skipped: usize,
    /// Whether other bytes than instructions are before it: data, padding, or other functions.
    pub after_gap: bool,
    /// Its bytes, in the order of the file, in hexadecimal digits.
    pub bytes: String,
    /// Mnemonic and operands.
    pub text: String,
    /// Where it branches to, or which address it makes or accesses, as far as that is known statically.
    pub target: Option<Target>,
    /// The loops around it, the outermost first.
    pub loops: Vec<Within>,
    /// Where it is in a load-exclusive/store-exclusive sequence.
    pub exclusive: Option<Edge>,
    /// The features it needs beyond the baseline; without one, beyond the architecture's first level.
    pub features: Vec<&'static str>,
    /// Its source line, where DWARF has it.
    pub source: Option<SourceLocation>,
    /// The findings about it.
    pub findings: Vec<PlacedFinding>,
    /// Its share of what a profile saw, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
}

/// A place that an instruction names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Target {
    /// Its address; `None` in another file.
    pub svma: Option<Hex>,
    /// Its section, in relocatable objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
    /// The function there, demangled.
    pub name: Option<String>,
    /// How far in the function, in bytes.
    pub offset: u64,
    /// Whether control goes there, rather than data coming from there.
    pub is_transfer: bool,
}

/// A loop around an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Within {
    /// Where the loop is entered.
    pub header: Hex,
    /// Where the instruction is in it, by address.
    pub edge: Edge,
}

/// Where an instruction is in a run of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// It is the first.
    First,
    /// Neither first nor last.
    Inside,
    /// It is the last.
    Last,
    /// It is the only one.
    Only,
}

/// A report with the code that its findings are about.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Annotated {
    /// What `check` reports.
    pub report: Report,
    /// The functions that findings are in, the worst finding's first, and then others that took most of a run, as far as the
    /// bounds allow.
    pub code: Vec<Listing>,
    /// Functions with findings, or of those that took most, that the bounds left out.
    pub left_out: u64,
    /// The size of each function above the first level, of each with findings, and of those that took most, by address.
    pub sizes: Vec<FunctionSize>,
}

/// A contiguous part of a function's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePart {
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    pub section: Option<Arc<str>>,
    /// Its address.
    pub svma: Hex,
    /// Its length in bytes.
    pub size: u64,
}

/// How large a function is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FunctionSize {
    /// Its address.
    pub svma: Hex,
    /// The section, in relocatable objects, whose `svma` is an offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
    /// Its length in bytes, split-off parts included.
    pub size: u64,
    /// Where its code is, split-off parts included, by address.
    #[serde(skip)]
    pub parts: Vec<CodePart>,
    /// The smallest level that covers what it uses, and the features beyond that.
    pub level: String,
    /// Its share of what a profile saw, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
}

//! Code of a build, as it waits for its partner: the page's data of one function, which is a tenth of a listing's size.

use crate::input::source_lines::SourceLines;
use crate::render::page::view::code::function;
use deburr_core::diff::plain_name;
use deburr_core::listing::Listing;
use deburr_core::report::Hex;
use std::sync::Arc;

/// One function's code.
#[derive(Debug, Clone)]
pub(crate) struct ListedFunction {
    /// How many instructions are shown.
    pub(crate) insns: usize,
    /// Its plain name.
    pub(crate) name: Option<String>,
    /// Where the worst of its findings are: sections and addresses.
    pub(crate) about: Vec<(Option<Arc<str>>, Hex)>,
    /// The function in the page's data.
    pub(crate) json: String,
}

impl ListedFunction {
    /// All functions of a file.
    pub(crate) fn all(listings: &[Listing]) -> Vec<ListedFunction> {
        let mut sources = SourceLines::default();
        let mut listed = |listing: &Listing| {
            let findings = listing.insns.iter().flat_map(|line| &line.findings);
            ListedFunction {
                insns: listing.insns.len(),
                name: listing.function.name.as_deref().map(plain_name),
                about: findings.map(|finding| (finding.section.clone(), finding.svma)).collect(),
                json: function(listing, &mut |name| sources.of(name)).to_string(),
            }
        };
        listings.iter().map(&mut listed).collect()
    }
}

//! The code that findings are about, worst first, within bounds: bytes → [`Annotated`].
//!
//! In: an ELF file, what is requested of a check, and how many instructions may be listed. Out: the report, listings of
//! the functions with findings, and the sizes of these and of all functions above the first level.

use super::file::File;
use super::model::{Annotated, CodePart, FunctionSize, Listing, View};
use super::part::{Part, Region};
use crate::Svma;
use crate::address::{CodeOffset, Extent};
use crate::check::examine;
use crate::function::{Function, Program};
use crate::image::{Error, Image, Kind, SourceLines};
use crate::insn::{self, ClassSet};
use crate::profile::Weighing;
use crate::report::{PlacedFinding, Report, place_of};
use crate::request::Request;
use deburr_cpu::FeatureSet;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Findings of one function that a listing shows the surroundings of: a function of a hundred thousand instructions may
/// have thousands.
const MOST_OF_ONE: usize = 12;

/// Checks one ELF file, and lists the code that findings are about: no more than `bound` instructions.
///
/// # Errors
/// [`Error`], as of [`crate::check()`].
pub fn annotate(bytes: &[u8], request: &Request<'_>, bound: usize) -> Result<Annotated, Error> {
    examine(bytes, request, ClassSet::EMPTY, |image, program, report, weighing| {
        let baseline = request.baseline.unwrap_or(deburr_cpu::first_level(image.arch));
        let permitted = baseline.union(deburr_cpu::system_features(image.arch));
        let about = About::of(image, program, &report);
        let (mut code, left_out) = about.listings(permitted, bound);
        let mut sizes = about.sizes();
        if let Some(weighing) = weighing {
            weigh(&mut code, &mut sizes, weighing);
        }
        Annotated { report, code, left_out, sizes }
    })
}

/// A function that is of interest.
#[derive(Default)]
struct Interesting<'r> {
    /// With its split-off parts, by address.
    parts: Vec<Function>,
    /// Above the first level.
    features: FeatureSet,
    findings: Vec<&'r PlacedFinding>,
}

/// The functions above the first level, and those with findings.
struct About<'f> {
    file: File<'f>,
    functions: BTreeMap<CodeOffset, Interesting<'f>>,
}

impl<'f> About<'f> {
    fn of(image: &'f Image<'f>, program: &'f Program, report: &'f Report) -> About<'f> {
        let whole = |at: CodeOffset| program.function_at(at).map(|function| program.whole(function).start);
        let mut functions: BTreeMap<CodeOffset, Interesting<'f>> = BTreeMap::new();
        let permitted = deburr_cpu::first_level(image.arch).union(deburr_cpu::system_features(image.arch));
        for (function, hits) in program.hits_by_function() {
            let Some(start) = function.map(|function| program.whole(function).start) else { continue };
            let groups = hits.iter().map(|hit| insn::features_of(image.arch, hit.group));
            let features = groups.fold(FeatureSet::EMPTY, FeatureSet::union).minus(permitted);
            if !features.is_empty() {
                let known = functions.entry(start).or_default();
                known.features = known.features.union(features);
            }
        }
        for finding in &report.findings {
            let at = svma_of(image, finding).and_then(|svma| image.code_offset(svma));
            if let Some(start) = at.and_then(whole) {
                functions.entry(start).or_default().findings.push(finding);
            }
        }
        if !functions.is_empty() {
            for part in program.functions() {
                if let Some(known) = functions.get_mut(&program.whole(part).start) {
                    known.parts.push(*part);
                }
            }
        }
        About { file: File { image, program }, functions }
    }

    /// The functions with findings, the worst finding's first, until `bound` is reached; and how many were left out.
    fn listings(&self, permitted: FeatureSet, bound: usize) -> (Vec<Listing>, u64) {
        let worst_first = |finding: &&PlacedFinding| {
            let share = finding.weight.map(|weight| weight.share);
            let (in_loop, calls) = (Reverse(finding.in_loop), Reverse(finding.calls));
            (Reverse(share), Reverse(finding.severity), in_loop, calls, finding.svma)
        };
        let with_findings = self.functions.iter().filter(|(_, it)| !it.findings.is_empty());
        let mut ordered: Vec<_> = with_findings
            .map(|(start, it)| {
                let mut findings = it.findings.clone();
                findings.sort_by_key(worst_first);
                (*start, it, findings)
            })
            .collect();
        ordered.sort_by_key(|(_, _, findings)| findings.first().map(worst_first));
        let lines = (bound > 0 && !ordered.is_empty()).then(|| SourceLines::of(self.file.image)).flatten();
        let mut listings = Vec::new();
        let (mut left, mut left_out) = (bound, 0);
        for (start, it, findings) in ordered {
            let listing = (left > 0).then(|| self.listing(start, it, &findings, permitted, lines.as_ref()));
            match listing.flatten().filter(|listing| listing.insns.len() <= left) {
                Some(listing) => {
                    left -= listing.insns.len();
                    listings.push(listing);
                }
                None => left_out += 1,
            }
        }
        (listings, left_out)
    }

    fn listing(
        &self,
        start: CodeOffset,
        function: &Interesting<'_>,
        findings: &[&PlacedFinding],
        permitted: FeatureSet,
        lines: Option<&SourceLines<'_>>,
    ) -> Option<Listing> {
        let File { image, program } = self.file;
        let whole = *program.function_from(start)?;
        let parts = function.parts.clone();
        let length: u64 = parts.iter().map(|part| part.extent(image).len()).sum();
        // Of a function too large for one graph, what is near its worst finding.
        let is_large = length > crate::function::block::LARGEST;
        let focus = findings.first().filter(|_| is_large).and_then(|finding| svma_of(image, finding));
        let about = findings.iter().take(MOST_OF_ONE).map(|&finding| finding.clone()).collect();
        let region = Region::Function { whole, parts };
        let part = Part { file: self.file, function: region, focus, view: View::default(), permitted };
        Some(part.listing(about, lines))
    }

    fn sizes(&self) -> Vec<FunctionSize> {
        let image = self.file.image;
        let first = deburr_cpu::first_level(image.arch);
        let size = |(start, it): (&CodeOffset, &Interesting<'_>)| {
            let (section, svma) = place_of(image, image.svma(*start));
            let part = |part: &Function| {
                let extent = part.extent(image);
                let (section, svma) = place_of(image, extent.start);
                CodePart { section, svma, size: extent.len() }
            };
            let parts: Vec<CodePart> = it.parts.iter().map(part).collect();
            let size = parts.iter().map(|part| part.size).sum();
            let (level, beyond) = deburr_cpu::smallest_level(image.arch, first.union(it.features));
            let level = deburr_cpu::describe(level, beyond).to_string();
            FunctionSize { svma, section, size, parts, level, share: None }
        };
        self.functions.iter().map(size).collect()
    }
}

/// Adds the shares of instructions and functions. Objects that are not linked do not run.
fn weigh(code: &mut [Listing], sizes: &mut [FunctionSize], weighing: &Weighing<'_, '_, '_>) {
    for line in code.iter_mut().flat_map(|listing| &mut listing.insns).filter(|line| line.section.is_none()) {
        let length = line.bytes.len() as u64 / 2;
        line.share = Some(weighing.of_extent(Extent::sized(Svma(line.svma.0), length)));
    }
    for function in sizes.iter_mut().filter(|function| function.section.is_none()) {
        function.share = Some(weighing.of_function(Svma(function.svma.0)));
    }
}

/// Where a finding is in the image.
fn svma_of(image: &Image<'_>, finding: &PlacedFinding) -> Option<Svma> {
    if image.kind != Kind::Relocatable {
        return Some(Svma(finding.svma.0));
    }
    let section = finding.section.as_deref()?;
    let is_it = |code: &&crate::image::Code<'_>| code.name == section && finding.svma.0 < code.extent.len();
    image.code.iter().find(is_it).map(|code| code.extent.start.offset(finding.svma.0.cast_signed()))
}

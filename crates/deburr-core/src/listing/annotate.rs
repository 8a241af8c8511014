//! The code that findings are about, worst first, within bounds: bytes → [`Annotated`].
//!
//! In: an ELF file, what is requested of a check, and how many instructions may be listed. Out: the report, listings of
//! the functions with findings and of those that a profile shows to be hot, and the sizes of these and of all functions above
//! the first level.

use super::file::File;
use super::model::{Annotated, CodePart, FunctionSize, Listing, View};
use super::part::{Part, Region};
use crate::Svma;
use crate::address::{CodeOffset, Extent};
use crate::check::examine;
use crate::function::{Function, Program};
use crate::image::{Error, Image, Kind, SourceLines};
use crate::insn::{self, ClassSet};
use crate::profile::{Share, Weighing};
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
        let about = About::of(image, program, &report);
        let (mut code, left_out) = about.listings(permitted(image, request), bound, weighing);
        let mut sizes = about.sizes();
        if let Some(weighing) = weighing {
            weigh(&mut code, &mut sizes, weighing);
        }
        Annotated { report, code, left_out, sizes }
    })
}

/// Lists the code that the findings of a report are about, and counts the functions that the bound left out.
pub(crate) fn code_of_findings(
    image: &Image<'_>,
    program: &Program,
    report: &Report,
    request: &Request<'_>,
    bound: usize,
) -> (Vec<Listing>, u64) {
    About::of(image, program, report).listings(permitted(image, request), bound, None)
}

/// What an instruction may need without a word on it.
pub(super) fn permitted(image: &Image<'_>, request: &Request<'_>) -> FeatureSet {
    let baseline = request.baseline.unwrap_or(deburr_cpu::first_level(image.arch));
    baseline.union(deburr_cpu::system_features(image.arch))
}

/// A function that is of interest.
#[derive(Default)]
struct Interesting<'r> {
    /// With its split-off parts, by address.
    parts: Vec<Function>,
    /// Above the first level.
    features: FeatureSet,
    findings: Vec<&'r PlacedFinding>,
    /// What it took of a run, where it is one of those that took most.
    share: Share,
}

/// The functions above the first level, those with findings, and the hot ones.
struct About<'f> {
    file: File<'f>,
    functions: BTreeMap<CodeOffset, Interesting<'f>>,
}

impl<'f> About<'f> {
    fn of(image: &'f Image<'f>, program: &'f Program, report: &'f Report) -> About<'f> {
        let whole = |at: CodeOffset| program.function_at(at).map(|function| program.whole(function).start);
        let mut functions: BTreeMap<CodeOffset, Interesting<'f>> = BTreeMap::new();
        let permitted = deburr_cpu::universal_features(image.arch);
        for (function, hits) in program.hits_by_function() {
            let Some(start) = function.map(|function| program.whole(function).start) else { continue };
            let groups = hits.iter().map(|hit| insn::features_of(image.arch, hit.group));
            let features = groups.fold(FeatureSet::EMPTY, FeatureSet::union).minus(permitted);
            if !features.is_empty() {
                let known = functions.entry(start).or_default();
                known.features = known.features.union(features);
            }
        }
        for finding in report.counted() {
            let at = svma_of(image, finding).and_then(|svma| image.code_offset(svma));
            if let Some(start) = at.and_then(whole) {
                functions.entry(start).or_default().findings.push(finding);
            }
        }
        for hot in report.profile.iter().flat_map(|profile| &profile.functions) {
            if image.kind != Kind::Relocatable
                && let Some(start) = image.code_offset(Svma(hot.svma.0)).and_then(whole)
            {
                functions.entry(start).or_default().share = hot.share;
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

    /// The functions with findings, the worst finding's first, and then the hot ones without, the heaviest first, until `bound`
    /// is reached; and how many were left out.
    fn listings(
        &self,
        permitted: FeatureSet,
        bound: usize,
        weighing: Option<&Weighing<'_, '_, '_>>,
    ) -> (Vec<Listing>, u64) {
        let worst_first = |finding: &&PlacedFinding| {
            let share = finding.weight.map(|weight| weight.share);
            let (in_loop, calls) = (Reverse(finding.in_loop), Reverse(finding.calls));
            (Reverse(share), Reverse(finding.severity), in_loop, calls, finding.svma)
        };
        let is_listed = |it: &Interesting<'_>| !it.findings.is_empty() || it.share > Share::default();
        let listed = self.functions.iter().filter(|(_, it)| is_listed(it));
        let mut ordered: Vec<_> = listed
            .map(|(start, it)| {
                let mut findings = it.findings.clone();
                findings.sort_by_key(worst_first);
                (*start, it, findings)
            })
            .collect();
        ordered.sort_by_key(|(_, it, findings)| {
            let worst = findings.first().map(worst_first);
            (worst.is_none(), worst, Reverse(it.share))
        });
        let lines = (bound > 0 && !ordered.is_empty()).then(|| SourceLines::of(self.file.image)).flatten();
        let mut listings = Vec::new();
        let (mut left, mut left_out) = (bound, 0);
        for (start, it, findings) in ordered {
            let view = (permitted, lines.as_ref(), weighing);
            let listing = (left > 0).then(|| self.listing(start, it, &findings, view));
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
        (permitted, lines, weighing): (FeatureSet, Option<&SourceLines<'_>>, Option<&Weighing<'_, '_, '_>>),
    ) -> Option<Listing> {
        let File { image, program } = self.file;
        let whole = *program.function_from(start)?;
        let parts = function.parts.clone();
        let length: u64 = parts.iter().map(|part| part.extent(image).len()).sum();
        // Of a function too large for one graph, what is near its worst finding.
        let is_large = length > crate::function::block::LARGEST;
        let worst = findings.first().filter(|_| is_large).and_then(|finding| svma_of(image, finding));
        // Of one without findings, what is near its heaviest instruction.
        let heaviest = || {
            let extents = parts.iter().map(|part| part.extent(image));
            let each = extents.filter_map(|extent| weighing?.heaviest_in(extent));
            each.max_by_key(|(svma, weight)| (*weight, Reverse(*svma))).map(|(svma, _)| svma)
        };
        let focus = worst.or_else(|| findings.is_empty().then(heaviest).flatten());
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

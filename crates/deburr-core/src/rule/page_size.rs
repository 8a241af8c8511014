//! `page-size`: files that machines with larger pages cannot load, and allocators that stop there. One finding of each kind a file.

use super::{Context, Rule};
use crate::address::Svma;
use crate::finding::{Finding, Value};
use crate::image::loading::pages::{Reason, largest_page_below};
use crate::image::{Kind, Misfit, PAGE_SIZES, pages};
use crate::insn::{ClassSet, sweep::Wants};
use crate::provenance::allocator::largest_page;
use crate::remedy::{Compiler, Remedy};
use deburr_cpu::Arch;

/// The largest pages of Android, in bytes.
const PAGE_OF_ANDROID: u64 = 1 << 14;

/// Where the fault is that a linker's flag removes.
const SEGMENTS: &str = "segments";

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "page-size",
    summary: "file that machines with larger pages cannot load, or whose allocator stops there",
    severity: "note; error where the package claims to be for machines with such pages",
    page: include_str!("../../pages/page-size.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (1, 0), "-Wl,-z,max-page-size=65536").only("place", SEGMENTS),
        Remedy::new(Compiler::Clang, (1, 0), "-Wl,-z,max-page-size=65536").only("place", SEGMENTS),
        Remedy::new(Compiler::Rustc, (1, 0), "-C link-arg=-Wl,-z,max-page-size=65536")
            .only("place", SEGMENTS),
    ],
    preview: false,
    // It runs there or it does not.
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| [segments(context), stored(context), allocator(context)].into_iter().flatten().collect(),
};

/// What is said of the segments.
fn segments(context: &Context<'_>) -> Option<Finding> {
    let image = context.image;
    let pages = pages(image.bytes).ok().filter(|pages| pages.is_android || image.arch == Arch::Aarch64)?;
    let largest = if pages.is_android { PAGE_OF_ANDROID } else { u64::MAX };
    let misfit = pages.misfits.iter().find(|misfit| misfit.page <= largest)?;
    let start = context.start()?;
    let evidence = vec![
        ("page", Value::Number(misfit.page)),
        ("largest_page", Value::Number(misfit.largest_page())),
        ("segment", Value::Number(misfit.segment as u64)),
        ("place", Value::Text(SEGMENTS.into())),
        ("cause", Value::Text(cause(misfit).into())),
    ];
    let or_larger =
        if pages.is_android || PAGE_SIZES.last() == Some(&misfit.page) { "" } else { " or larger" };
    let message =
        format!("cannot be loaded where pages have {}{or_larger}: {}", size(misfit.page), reason(misfit));
    Some(finding(context, start, misfit.page, message, evidence))
}

/// What is said of a library's place in an application for Android, whose loader maps whole pages from there.
fn stored(context: &Context<'_>) -> Option<Finding> {
    let at = context.stored_at?;
    let is_mapped = context.image.kind == Kind::SharedObject && pages(context.image.bytes).ok()?.is_android;
    let start = context.start().filter(|_| is_mapped)?;
    let page = PAGE_SIZES.into_iter().filter(|page| *page <= PAGE_OF_ANDROID).find(|page| at % page != 0)?;
    let or_larger = if page < PAGE_OF_ANDROID { " or larger" } else { "" };
    let size = size(page);
    let message = format!(
        "cannot be mapped from its application where pages have {size}{or_larger}: it is stored at {at:#x}, which is not a multiple of {size}"
    );
    let evidence = vec![
        ("page", Value::Number(page)),
        ("largest_page", Value::Number(largest_page_below(page))),
        ("stored_at", Value::Number(at)),
        ("place", Value::Text("application".into())),
        ("cause", Value::Text("zip-alignment".into())),
    ];
    Some(finding(context, start, page, message, evidence))
}

/// What is said of jemalloc, which has the size of a page from the machine that it was built on or for.
fn allocator(context: &Context<'_>) -> Option<Finding> {
    let (at, page) = context.of_build(largest_page)?;
    let largest = *PAGE_SIZES.last()?;
    if page >= largest {
        return None;
    }
    let message = format!(
        "jemalloc in it ends the program where pages are larger than {}: it was built for those",
        size(page)
    );
    let evidence = vec![
        ("largest_page", Value::Number(page)),
        ("place", Value::Text("allocator".into())),
        ("cause", Value::Text("allocator".into())),
    ];
    Some(finding(context, at, page * 2, message, evidence))
}

/// `page`: the least size, in bytes, with which it does not run.
fn finding(
    context: &Context<'_>,
    at: Svma,
    page: u64,
    message: String,
    evidence: Vec<(&'static str, Value)>,
) -> Finding {
    let claim = context.claim.filter(|claim| claim.largest_page.is_some_and(|largest| largest >= page));
    context.finding_of_claim(RULE.id, claim, at, message, evidence)
}

fn reason(misfit: &Misfit) -> String {
    let segment = misfit.segment;
    match misfit.reason {
        Reason::Alignment(to) if to >= 1 << 10 && to % (1 << 10) == 0 => {
            format!("segment {segment} is aligned to {}", size(to))
        }
        Reason::Alignment(to) => format!("segment {segment} is aligned to {to}"),
        Reason::Offset => {
            format!("the address of segment {segment} and its place in the file differ by a part of a page")
        }
        Reason::SharedPage => format!("segment {segment} shares a page with one of other rights"),
        Reason::RelroEnd => {
            format!("segment {segment}, read-only after relocation, ends within a page that is written")
        }
    }
}

const fn cause(misfit: &Misfit) -> &'static str {
    match misfit.reason {
        Reason::Alignment(_) => "alignment",
        Reason::Offset => "offset",
        Reason::SharedPage => "shared-page",
        Reason::RelroEnd => "relro",
    }
}

fn size(bytes: u64) -> String {
    format!("{} KiB", bytes >> 10)
}

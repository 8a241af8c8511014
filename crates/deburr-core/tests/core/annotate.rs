//! The code that findings are about: with the report of `check`, worst first, and never more of it than was wanted.

use deburr_core::listing::Annotated;
use deburr_core::{Request, annotate, check};
use std::path::Path;

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn annotated(bytes: &[u8], bound: usize) -> Annotated {
    annotate(bytes, &Request::default(), bound).expect("an object")
}

#[test]
fn every_finding_has_its_code_and_the_report_is_that_of_check() {
    let bytes = fixture("llsc_loop/hit-cas.o");
    let found = annotated(&bytes, 1000);
    let report = check(&bytes, &Request::default()).expect("an object");
    assert_eq!(found.report.findings, report.findings);
    assert_eq!(found.left_out, 0);
    for finding in &report.findings {
        let is_here =
            |line: &deburr_core::listing::Line| line.svma == finding.svma && line.section == finding.section;
        let listing = found.code.iter().find(|listing| listing.insns.iter().any(is_here)).expect("its code");
        assert!(listing.insns.iter().any(|line| line.exclusive.is_some() && !line.loops.is_empty()));
        let size = found.sizes.iter().find(|size| size.svma == listing.function.svma).expect("its size");
        assert_eq!((size.size, size.level.as_str()), (listing.function.size, "armv8.0-a"));
        let is_in = |part: &deburr_core::listing::CodePart| {
            part.section == finding.section
                && (part.svma.0..part.svma.0 + part.size).contains(&finding.svma.0)
        };
        assert!(size.parts.iter().any(is_in), "{:?}", size.parts);
    }
}

#[test]
fn what_does_not_fit_the_bound_is_counted() {
    let bytes = fixture("llsc_loop/hit-cas.o");
    let all = annotated(&bytes, 1000);
    let functions = all.code.len() as u64;
    let first = all.code[0].insns.len();
    let some = annotated(&bytes, first);
    assert!(some.code.iter().map(|listing| listing.insns.len()).sum::<usize>() <= first);
    assert_eq!(some.code.len() as u64 + some.left_out, functions);
    let none = annotated(&bytes, 0);
    assert_eq!((none.code.len(), none.left_out), (0, functions));
    assert_eq!(none.sizes, all.sizes);
}

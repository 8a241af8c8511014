//! Weights by samples: a helper's go to its calls, an instruction's show on the next one, and what is nowhere is counted.

use deburr_core::image::Image;
use deburr_core::profile::{CountedCall, SamplePlace, SampledEdge, Samples, Share, WeighedBy};
use deburr_core::{Report, Request, annotate, check};
use deburr_cpu::FeatureSet;
use std::path::Path;

/// `bl __aarch64_cas4_acq` and `bl __aarch64_ldadd8_relax` in `lock_and_count`; instructions of these helpers.
const CALL_CAS: u64 = 0x10;
const CALL_LDADD: u64 = 0x18;
const CASA: u64 = 0x34;
const CAS: u64 = 0x24;

fn object(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Where the object's code begins in the file.
fn base(bytes: &[u8]) -> u64 {
    Image::parse(bytes, None).expect("an object").code[0].file_offset
}

struct Profile {
    bytes: Vec<u8>,
    base: u64,
    samples: Samples,
}

impl Profile {
    /// Of 1,000 samples that skid, some at places of `fixtures/outlined_atomic/hit-libgcc.o`.
    fn of(leaves: &[(u64, u64)]) -> Profile {
        let bytes = object("outlined_atomic/hit-libgcc.o");
        let base = base(&bytes);
        let leaves =
            leaves.iter().map(|(at, weight)| (SamplePlace::FileOffset(base + at), *weight)).collect();
        let samples =
            Samples { event: "cycles".to_owned(), total: 1000, skids: true, leaves, ..Samples::default() };
        Profile { bytes, base, samples }
    }

    fn at(&self, offset: u64) -> SamplePlace {
        SamplePlace::FileOffset(self.base + offset)
    }

    fn report(&self) -> Report {
        check(&self.bytes, &Request { samples: Some(&self.samples), ..Request::default() })
            .expect("an object")
    }

    /// The calls that are findings, in their order: address, thousandths, and what says so.
    fn weights(&self) -> Vec<(u64, u32, WeighedBy)> {
        let report = self.report();
        assert_eq!(report.findings.len(), 2);
        let weight = |finding: &deburr_core::report::PlacedFinding| {
            let weight = finding.weight.expect("a weight");
            (finding.svma.0, (weight.share.fraction() * 1000.0).round() as u32, weight.by)
        };
        report.findings.iter().map(weight).collect()
    }
}

#[test]
fn samples_in_a_helper_go_to_its_calls_by_return_addresses() {
    let mut profile = Profile::of(&[(CASA, 500), (0x68, 90), (CALL_LDADD, 7)]);
    let edge = |leaf, caller, weight| SampledEdge { leaf, caller, weight };
    profile.samples.edges = vec![
        edge(profile.at(CASA), profile.at(CALL_CAS + 4), 480),
        // As Go writes it: a byte of the call.
        edge(profile.at(0x68), profile.at(CALL_LDADD + 3), 90),
    ];
    let chains = WeighedBy::CallChains;
    assert_eq!(profile.weights(), [(CALL_CAS, 480, chains), (CALL_LDADD, 97, chains)]);
}

#[test]
fn without_chains_branches_decide_and_then_counted_calls() {
    let mut profile = Profile::of(&[(CASA, 400)]);
    let call = |from, to, count| CountedCall { from, to, count };
    profile.samples.calls = vec![call(profile.at(CALL_CAS), profile.at(CAS), 10)];
    let counts = WeighedBy::CallCounts;
    assert_eq!(profile.weights()[0], (CALL_CAS, 400, counts));
    // From elsewhere comes three quarters of it.
    profile.samples.branches =
        vec![call(profile.at(CALL_CAS), profile.at(CAS), 5), call(profile.at(4), profile.at(CAS), 15)];
    assert_eq!(profile.weights()[0], (CALL_CAS, 100, WeighedBy::Branches));
    // What nothing gives back stays with the helper.
    let alone = Profile::of(&[(CASA, 400)]);
    assert_eq!(alone.weights()[0], (CALL_CAS, 0, WeighedBy::Code));
    let report = alone.report();
    let hot = &report.profile.expect("a profile").functions[0];
    assert_eq!((hot.function.as_deref(), hot.share.fraction()), (Some("__aarch64_cas4_acq"), 0.4));
}

#[test]
fn the_instruction_after_a_finding_counts_where_samples_skid() {
    let mut profile = Profile::of(&[(CALL_CAS, 10), (CALL_CAS + 4, 300), (0xc, 50)]);
    assert_eq!(profile.weights()[0], (CALL_CAS, 310, WeighedBy::Code));
    profile.samples.skids = false;
    assert_eq!(profile.weights()[0], (CALL_CAS, 10, WeighedBy::Code));
}

#[test]
fn the_heaviest_finding_comes_first_and_no_finding_is_lost() {
    let profile = Profile::of(&[(CALL_LDADD, 5), (0x1_0000, 40)]);
    let weights = profile.weights();
    assert_eq!((weights[0].0, weights[1].0), (CALL_LDADD, CALL_CAS));
    let seen = profile.report().profile.expect("a profile");
    assert_eq!((seen.share.fraction(), seen.lost.fraction()), (0.005, 0.04));
    let without = check(&profile.bytes, &Request::default()).expect("an object");
    assert!(without.profile.is_none() && without.findings.iter().all(|finding| finding.weight.is_none()));
}

#[test]
fn a_name_is_a_place_where_only_one_function_has_it() {
    let mut profile = Profile::of(&[]);
    let symbol = |name: &str, offset| SamplePlace::Symbol { name: name.into(), offset };
    profile.samples.leaves = vec![
        (symbol("lock_and_count", Some(CALL_CAS)), 20),
        // Somewhere in the function: in its sum, and at no instruction.
        (symbol("lock_and_count", None), 30),
        (symbol("nobody", Some(0)), 7),
    ];
    // The function's are not known to be elsewhere.
    let function = WeighedBy::Function;
    assert_eq!(profile.weights(), [(CALL_CAS, 50, function), (CALL_LDADD, 30, function)]);
    let seen = profile.report().profile.expect("a profile");
    assert_eq!((seen.functions[0].share.fraction(), seen.lost.fraction()), (0.05, 0.007));
}

#[test]
fn rules_that_count_when_hot_report_nothing_cold() {
    let bytes = object("scalar_hot_loop/hit-add.o");
    let rules = ["scalar-hot-loop"];
    let report = |weight: u64| {
        let place = |offset: u64| (SamplePlace::FileOffset(base(&bytes) + offset), weight);
        let leaves = (0..64).map(|word| place(4 * word)).collect();
        let samples = Samples { total: 1_000_000, leaves, ..Samples::default() };
        let request =
            Request { rules: Some(&rules), when_hot: &rules, samples: Some(&samples), ..Request::default() };
        check(&bytes, &request).expect("an object")
    };
    let hot = report(10_000);
    assert!(!hot.findings.is_empty());
    assert!(report(10).findings.is_empty());
}

#[test]
fn a_choice_of_a_leaf_counts_without_a_target_where_it_is_hot() {
    let bytes = object("dispatched_leaf/hit-pointer.o");
    let report = |weight: u64, target: Option<FeatureSet>| {
        // `fast` is the first function.
        let leaves = vec![(SamplePlace::FileOffset(base(&bytes)), weight)];
        let samples = Samples { total: 1_000_000, leaves, ..Samples::default() };
        let samples = (weight > 0).then_some(&samples);
        let rules = ["dispatched-leaf"];
        let request = Request { rules: Some(&rules), samples, target, ..Request::default() };
        check(&bytes, &request).expect("an object")
    };
    let hot = report(10_000, None);
    assert_eq!(hot.findings.len(), 1);
    assert!(
        hot.findings[0].message.contains("which the profiled machine has"),
        "{}",
        hot.findings[0].message
    );
    assert!(report(10, None).findings.is_empty());
    assert!(report(0, None).findings.is_empty());
    // What a target guarantees is said where it is cold, too.
    let target = deburr_cpu::Target::parse("x86-64-v2").expect("a level").features;
    assert_eq!(report(10, Some(target)).findings.len(), 1);
}

#[test]
fn a_hot_function_without_findings_is_listed_with_its_size() {
    let bytes = object("scalar_twin/miss-table-vector.o");
    let first = Image::parse(&bytes, None).expect("a shared object").code[0].clone();
    let leaves = [(SamplePlace::FileOffset(first.file_offset + 0x40), 400)].into_iter().collect();
    let samples = Samples { event: "cycles".to_owned(), total: 1000, leaves, ..Samples::default() };
    let request = Request { samples: Some(&samples), ..Request::default() };
    let annotated = annotate(&bytes, &request, 1000).expect("a shared object");
    assert!(annotated.report.findings.is_empty());
    let [size] = annotated.sizes.as_slice() else { panic!("{:?}", annotated.sizes) };
    assert_eq!((size.svma.0, size.share), (first.extent.start.0, Some(Share::parts_per_million(400_000))));
    let shares: Vec<Share> = annotated.code[0].insns.iter().filter_map(|line| line.share).collect();
    assert_eq!(shares.iter().filter(|share| **share > Share::default()).count(), 1, "{shares:?}");
    // Where there is no room for its code, it has its size, and is counted.
    let without = annotate(&bytes, &request, 0).expect("a shared object");
    assert_eq!((without.code.len(), without.left_out, &without.sizes), (0, 1, &annotated.sizes));
    // Without a profile nothing is hot.
    let cold = annotate(&bytes, &Request::default(), 1000).expect("a shared object");
    assert!(cold.code.is_empty() && cold.sizes.is_empty() && cold.left_out == 0);
}

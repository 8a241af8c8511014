//! A report and a run for the tests of renderers.
//!
//! In: a renderer. Out: what it makes of the example, as text.

use super::renderer::{Checked, Finished, Renderer};
use super::totals::Totals;
use crate::config::allow::{Allowed, Remark, Remarks};
use crate::config::guard::StaleGuard;
use crate::input::walk::Skipped;
use deburr_core::Report;
use deburr_core::finding::{Severity, Value};
use deburr_core::report::{
    AcrossFinding, Advice, Atomics, Build, Coverage, Hex, IsaFunction, NeededBy, OtherPlace, PlacedFinding,
    Reach, Root, SourceLocation, Step,
};

/// A finding by comparison of files.
pub(crate) fn example_across() -> AcrossFinding {
    AcrossFinding {
        rule: "scalar-twin".into(),
        severity: Severity::Warning,
        path: "bin/verify".into(),
        function: Some("checksum_block".into()),
        svma: Hex(0x1180),
        section: None,
        other: OtherPlace { path: "bin/server".into(), svma: Hex(0x2200), section: None },
        message: "scalar loop, where bin/server has it on 128-bit vectors".into(),
        evidence: [("vector_bits", Value::Number(128))].into(),
    }
}

/// A report with all parts.
pub(crate) fn example() -> Report {
    let finding = |rule, severity, svma: u64, message: &str| PlacedFinding {
        rule,
        severity,
        function: Some("spin_lock".into()),
        svma: Hex(svma),
        section: None,
        extent: 12,
        source: Some(Box::new(SourceLocation { file: "lock.c".to_owned(), line: 7 })),
        message: message.into(),
        evidence: [("helper", Value::Text("cas4_acq".into())), ("size", Value::Number(4))].into(),
    };
    Report {
        path: "bin/server".to_owned(),
        arch: "aarch64".into(),
        build_id: Some("00ff".to_owned()),
        level: "armv8.1-a".to_owned(),
        level_present: "armv8.1-a".to_owned(),
        level_beyond: vec!["FEAT_SVE".to_owned()],
        needed_beyond: vec!["FEAT_SVE".to_owned()],
        needed_by: Some(NeededBy {
            function: Some("crc".to_owned()),
            svma: Hex(0x400),
            root: Some(Root::EntryPoint),
            from: Hex(0x300),
        }),
        level_guarded: None,
        guarded_beyond: Vec::new(),
        not_followed: 0,
        xcr0_not_asked: false,
        stated_guards: Vec::new(),
        guards_examined: true,
        features: [("FEAT_LSE".to_owned(), 1234)].into(),
        isa_functions: vec![IsaFunction {
            function: Some("crc".to_owned()),
            svma: Hex(0x400),
            section: None,
            features: [("FEAT_CRC32".to_owned(), 9)].into(),
            reach: Reach::Required,
            path: ["_start", "main", "crc"]
                .into_iter()
                .zip([0x300, 0x380, 0x400])
                .map(|(name, svma)| Step { function: Some(name.to_owned()), svma: Hex(svma) })
                .collect(),
            root: Some(Root::EntryPoint),
            guard: None,
        }],
        atomics: Some(Atomics { helper_bodies: 7, outlined_calls: 330, ..Atomics::default() }),
        build: Build { compilers: vec!["GCC 12.2.0".to_owned()], ..Build::default() },
        facts: None,
        allowed: 0,
        advice: vec![Advice {
            compiler: "gcc 12".to_owned(),
            flags: "-march=armv8.1-a".into(),
            rules: vec!["llsc-loop".into(), "outlined-atomic".into()],
            findings: 3,
            needs: Some("armv8.1-a".into()),
            breaks: ["a72", "a73", "a53", "a57", "a35"].map(str::to_owned).to_vec(),
            oldest: Some("n1".to_owned()),
        }],
        findings: vec![
            finding("outlined-atomic".into(), Severity::Note, 0x1000, "calls a helper"),
            finding("outlined-atomic".into(), Severity::Note, 0x1010, "calls a helper"),
            finding("llsc-loop".into(), Severity::Warning, 0x2000, "compare-and-swap of 4 bytes"),
        ],
        coverage: Coverage { executable_bytes: 4000, decoded_bytes: 4000, ..Coverage::default() },
        closure: Some(vec!["lib/libfast.so".to_owned()]),
        missing_libraries: vec!["libslow.so.1".to_owned()],
        faults: Vec::new(),
    }
}

/// What a renderer makes of a run over some reports, each with a further finding that is allowed; one file is
/// skipped.
pub(crate) fn rendered(renderer: &mut dyn Renderer, reports: &[Report]) -> String {
    rendered_with(renderer, reports, &[])
}

/// The same, with findings by comparison of files.
pub(crate) fn rendered_with(
    renderer: &mut dyn Renderer,
    reports: &[Report],
    across: &[AcrossFinding],
) -> String {
    let mut out = Vec::new();
    let mut totals = Totals::default();
    renderer.begin(&mut out).unwrap();
    for report in reports {
        let finding = PlacedFinding { function: None, ..example().findings[0].clone() };
        let allowed = [Allowed { finding, reason: "as good as it gets".into() }];
        let report = Report { allowed: 1, ..report.clone() };
        totals.add(&report, 4096);
        renderer.file(&mut out, Checked { report: &report, allowed: &allowed }).unwrap();
    }
    let reason = "32-bit Arm ELF: not supported".to_owned();
    let skipped = [Skipped { path: "old.so".to_owned(), reason, named: false, fault: false }];
    let place = "deburr.toml:1".to_owned();
    let reason_it_is_stale = "it matches no function of the run";
    let stale = [StaleGuard { function: "sum_*".to_owned(), reason_it_is_stale, place: place.clone() }];
    let remark = |reason: &str| Remark {
        rules: vec!["llsc-loop"],
        file: Some("bin/*".to_owned()),
        function: None,
        reason: reason.to_owned(),
        place: place.clone(),
        subject: String::new(),
    };
    let remarks = Remarks { stale: vec![remark("it is old")], exceeded: vec![remark("there are more")] };
    let run =
        Finished { totals: &totals, skipped: &skipped, across, stale_guards: &stale, remarks: &remarks };
    renderer.end(&mut out, run).unwrap();
    String::from_utf8(out).unwrap()
}

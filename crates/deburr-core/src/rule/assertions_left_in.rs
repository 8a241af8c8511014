//! `assertions-left-in`: assertions, and Rust's overflow checks, in a file that is shipped. One finding a file, and one more where the same
//! file for another Python or architecture, or of another version, has none.

use super::{Across, Context, FileAssertions, FileFacts, Needs, Rule, functions};
use crate::finding::{AcrossFinding, Evidence, Finding, Located, Severity, Value};
use crate::image::demangle;
use crate::insn::{ClassSet, sweep::Wants};
use crate::remedy::{Compiler, Remedy};
use std::collections::BTreeMap;

/// Assertions of a file that are reported: a few are meant to stay.
const LEAST_CALLS: u64 = 10;
/// Messages of overflow checks that are reported: code may ask for some.
const LEAST_MESSAGES: u64 = 3;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "assertions-left-in",
    summary: "assertions or overflow checks in a file that is shipped",
    severity: "note; warning where the same file elsewhere in the run has none",
    page: include_str!("../../pages/assertions-left-in.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (1, 0), "-DNDEBUG").only("mainly", "assert"),
        Remedy::new(Compiler::Clang, (1, 0), "-DNDEBUG").only("mainly", "assert"),
        Remedy::new(Compiler::Gcc, (1, 0), "-DG_DISABLE_ASSERT").only("mainly", "GLib"),
        Remedy::new(Compiler::Clang, (1, 0), "-DG_DISABLE_ASSERT").only("mainly", "GLib"),
        Remedy::new(Compiler::Rustc, (1, 0), "-C debug-assertions=off").only("mainly", "Rust"),
    ],
    preview: false,
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| finding(context).into_iter().collect(),
};

/// What it does at the end of a run.
pub(super) const ACROSS: Across = Across { rule: RULE.id, needs: Needs::Assertions, check: across };

fn finding(context: &Context<'_>) -> Option<Finding> {
    let image = context.image;
    let found = context.assertions();
    let (count, first) = found.all();
    let has_calls = count >= LEAST_CALLS;
    let has_checks = found.overflow_messages >= LEAST_MESSAGES;
    if !has_calls && !has_checks {
        return None;
    }
    let at = match first.filter(|_| has_calls) {
        Some(first) => image.svma(first),
        None => context.start()?,
    };
    let mut names: Vec<(&String, &u64)> = found.by_name.iter().collect();
    names.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    let names: Vec<String> =
        names.into_iter().map(|(name, count)| format!("{} ({count})", demangle(name))).collect();
    let calls =
        || format!("{count} assertions in {}: calls of {}", functions(found.callers), names.join(", "));
    let checks = || format!("overflow checks of Rust, with {} messages", found.overflow_messages);
    let message = match (has_calls, has_checks) {
        (true, true) => format!("{}; {}", calls(), checks()),
        (true, false) => calls(),
        (false, _) => checks(),
    };
    let mainly = found.by_maker.iter().max_by_key(|&(maker, &(calls, _))| (calls, std::cmp::Reverse(maker)));
    let mainly = mainly.filter(|_| has_calls).map_or("Rust", |(maker, _)| maker.name());
    let evidence = vec![
        ("mainly", Value::Text(mainly.into())),
        ("calls", Value::Number(count)),
        ("callers", Value::Number(found.callers)),
        ("overflow_messages", Value::Number(found.overflow_messages)),
    ];
    Some(context.finding(RULE.id, Severity::Note, at, message, evidence))
}

/// A file, and its assertions.
type Counted<'f> = (&'f FileFacts, &'f FileAssertions);

/// Files with assertions, each with another build of it that has none and a similar number of functions.
fn across(files: &[FileFacts]) -> Vec<AcrossFinding> {
    let mut groups: BTreeMap<&str, Vec<Counted<'_>>> = BTreeMap::new();
    for file in files {
        if let (Some(assertions), Some(kin)) = (&file.assertions, &file.kin) {
            groups.entry(kin).or_default().push((file, assertions));
        }
    }
    let mut found = Vec::new();
    for members in groups.into_values() {
        let without: Vec<_> = members
            .iter()
            .filter(|(_, it)| !it.may_assert && it.calls == 0 && it.overflow_messages == 0)
            .collect();
        let with = members
            .iter()
            .filter(|(_, it)| it.calls >= LEAST_CALLS || it.overflow_messages >= LEAST_MESSAGES);
        for (file, assertions) in with {
            // Assertions add code, and a build with them has often lost its optimiser, and functions are no longer inlined.
            let is_as_large = |(_, other): &&&Counted<'_>| {
                let (without, with) = (other.functions, assertions.functions);
                with * 3 >= without * 2 && without * 4 >= with
            };
            if let Some((other, there)) = without.iter().find(is_as_large) {
                found.push(compared((file, assertions), (other, there)));
            }
        }
    }
    found.sort_by(|one, other| one.at.path.cmp(&other.at.path));
    found
}

fn compared((file, assertions): Counted<'_>, (other, there): Counted<'_>) -> AcrossFinding {
    let located = |file: &FileFacts, at: &FileAssertions| Located {
        path: file.path.clone(),
        function: at.function.clone(),
        section: None,
        address: at.first.0,
    };
    let what = match assertions.calls {
        0 => "overflow checks of Rust".to_owned(),
        calls => format!("{calls} assertions"),
    };
    AcrossFinding {
        rule: RULE.id,
        severity: Severity::Warning,
        message: format!("{what}, and none in {}", other.path).into(),
        evidence: Evidence::from([
            ("calls", Value::Number(assertions.calls)),
            ("overflow_messages", Value::Number(assertions.overflow_messages)),
            ("functions", Value::Number(assertions.functions)),
            ("other_functions", Value::Number(there.functions)),
        ]),
        at: located(file, assertions),
        other: located(other, there),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Svma;
    use deburr_cpu::{Arch, FeatureSet};

    fn file(path: &str, kin: Option<&str>, calls: u64, functions: u64) -> FileFacts {
        FileFacts {
            path: path.into(),
            kin: kin.map(Into::into),
            arch: Arch::X86_64,
            guaranteed: FeatureSet::default(),
            shapes: [].into(),
            claim: None,
            assertions: Some(FileAssertions {
                calls,
                overflow_messages: 0,
                may_assert: calls > 0,
                first: Svma(0x10),
                function: None,
                functions,
            }),
        }
    }

    fn pairs(files: &[FileFacts]) -> Vec<(String, String)> {
        let found = across(files);
        found.iter().map(|it| (it.at.path.to_string(), it.other.path.to_string())).collect()
    }

    #[test]
    fn a_file_is_compared_with_its_kin_that_has_no_assertion() {
        let bad = file("bad", Some("a"), 54, 250);
        assert_eq!(pairs(&[bad.clone(), file("good", Some("a"), 0, 180)]), [("bad".into(), "good".into())]);
        assert_eq!(pairs(&[file("good", Some("a"), 0, 180), bad.clone()]), [("bad".into(), "good".into())]);
        for other in [file("other", Some("b"), 0, 250), file("other", None, 0, 250)] {
            assert_eq!(pairs(&[bad.clone(), other]), []);
        }
        assert_eq!(pairs(&[file("bad", None, 54, 250), file("good", None, 0, 250)]), []);
        let message = across(&[bad, file("good", Some("a"), 0, 250)]).remove(0).message;
        assert_eq!(&*message, "54 assertions, and none in good");
    }

    #[test]
    fn kin_of_other_sizes_and_with_assertions_is_not_compared() {
        let bad = file("bad", Some("a"), 54, 250);
        let good = |calls, functions| file("good", Some("a"), calls, functions);
        // Another architecture's sources, a stub, and a file that has some.
        for other in [good(0, 400), good(0, 20), good(1, 250)] {
            assert_eq!(pairs(&[bad.clone(), other]), []);
        }
        // One that asks for the function and calls it by a pointer that is not followed.
        let asking = good(0, 250);
        let assertions = asking.assertions.clone().map(|it| FileAssertions { may_assert: true, ..it });
        assert_eq!(pairs(&[bad, FileFacts { assertions, ..asking }]), []);
        // Too few to tell.
        assert_eq!(pairs(&[file("bad", Some("a"), 9, 250), good(0, 250)]), []);
    }
}

//! `claim-unused`: a package that says that it is for machines of a higher level, and none of whose code needs one.

use super::{Across, Context, FileFacts, Needs, Rule};
use crate::finding::{AcrossFinding, Evidence, Finding, Located, Severity, Value};
use crate::insn::{ClassSet, sweep::Wants};
use std::collections::BTreeMap;

/// The rule. It is silent where nothing is claimed, or nobody wants files held to it.
pub(super) const RULE: Rule = Rule {
    id: "claim-unused",
    summary: "package for machines of a level that none of its code needs",
    severity: "note",
    page: include_str!("../../pages/claim-unused.md"),
    preview: false,
    remedies: &[],
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check,
};

/// What it does at the end of a run, when all files of a package are known.
pub(super) const ACROSS: Across = Across { rule: RULE.id, needs: Needs::Claim, check: across };

fn check(_: &Context<'_>) -> Vec<Finding> {
    Vec::new()
}

fn across(files: &[FileFacts]) -> Vec<AcrossFinding> {
    let mut parts: BTreeMap<&str, Vec<&FileFacts>> = BTreeMap::new();
    for file in files {
        if let Some(claim) = &file.claim {
            parts.entry(&claim.part).or_default().push(file);
        }
    }
    let unused = |(part, files): (&str, Vec<&FileFacts>)| {
        let is_used = |file: &&FileFacts| file.claim.as_ref().is_some_and(|claim| claim.is_used);
        let (first, claim) = files.iter().find_map(|file| Some((file, file.claim.as_ref()?)))?;
        if !claim.is_above_first || files.iter().any(is_used) {
            return None;
        }
        let (count, level) = (files.len(), &claim.level);
        let of = if count == 1 { "its one binary".to_owned() } else { format!("its {count} binaries") };
        Some(AcrossFinding {
            rule: RULE.id,
            severity: Severity::Note,
            message: format!(
                "claimed is {level}, {}, and no code of {of} needs more than the first level",
                claim.text
            )
            .into(),
            evidence: Evidence::from([
                ("claim", Value::Text(claim.text.clone())),
                ("claimed", Value::Text(level.clone())),
                ("files", Value::Number(count as u64)),
            ]),
            at: Located { path: first.path.clone(), function: None, section: None, address: 0 },
            other: Located { path: part.into(), function: None, section: None, address: 0 },
        })
    };
    parts.into_iter().filter_map(unused).collect()
}

#[cfg(test)]
mod tests {
    use super::super::context::FileClaim;
    use super::*;
    use deburr_cpu::{Arch, FeatureSet};

    fn file(part: &str, is_above_first: bool, is_used: bool) -> FileFacts {
        let claim = FileClaim {
            part: part.into(),
            text: "amd64v3 (control)".into(),
            level: "x86-64-v3".into(),
            is_above_first,
            is_used,
        };
        FileFacts {
            path: format!("{part}!f").into(),
            kin: None,
            arch: Arch::X86_64,
            guaranteed: FeatureSet::default(),
            shapes: [].into(),
            claim: Some(claim),
            assertions: None,
        }
    }

    #[test]
    fn a_package_of_which_one_file_uses_the_level_uses_it() {
        let parts = |files: &[FileFacts]| -> Vec<String> {
            across(files).iter().map(|finding| finding.other.path.to_string()).collect()
        };
        assert_eq!(parts(&[file("a", true, false), file("a", true, true), file("b", true, false)]), ["b"]);
        // What claims no more than the first level has nothing to use.
        assert_eq!(parts(&[file("a", false, false)]), [""; 0]);
        assert_eq!(parts(&[FileFacts { claim: None, ..file("a", true, false) }]), [""; 0]);
        let message = across(&[file("a", true, false)]).remove(0).message;
        assert!(message.ends_with("no code of its one binary needs more than the first level"), "{message}");
    }
}

//! The audit, alone: changes whose instructions are proven, and what is around them. Each file of `tests/audited` has one change
//! with the one thing that speaks against it, or with nothing.
//!
//! In: an assembly source, whose head says why, for which rule the change is, how the file is linked and what the audit must
//! say; the label `site` is at the change, and the section `.replacement` has its instructions. Out: the audit says so by
//! itself, and a file patched so is not verified.

use deburr_core::address::Svma;
use deburr_core::image::Image;
use deburr_patch::{
    ApplyOptions, Plan, PlanRequest, RULES, Reason, Site, Subject, apply, audit, plan, verify,
};
use deburr_tests::rewrite::with_lse;
use deburr_tests::toolchain::{repository, require, run, work_dir};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const GCC: &str = "aarch64-linux-gnu-gcc";

/// A source, assembled and linked, with its change.
struct Case {
    name: String,
    /// What the audit must say; `nothing` where it must agree.
    says: String,
    bytes: Vec<u8>,
    site: Site,
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// What a source's head says of something.
fn stated<'a>(source: &'a str, what: &str) -> &'a str {
    let line =
        source.lines().find_map(|line| line.strip_prefix("// ")?.strip_prefix(what)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no `// {what}:`"))
}

/// Assembles and links; the replacement comes from the object, before anything is linked.
fn built(dir: &Path, path: &Path) -> Case {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let source = fs::read_to_string(path).expect("a source");
    let (object, linked) = (dir.join(format!("{name}.o")), dir.join(format!("{name}.so")));
    let replacement = dir.join(format!("{name}.bin"));
    run(Command::new(GCC).arg("-c").arg(path).arg("-o").arg(&object));
    let extract = ["-O", "binary", "-j", ".replacement", "--set-section-flags", ".replacement=alloc"];
    run(Command::new("aarch64-linux-gnu-objcopy").args(extract).arg(&object).arg(&replacement));
    run(Command::new("aarch64-linux-gnu-objcopy").args(["-R", ".replacement"]).arg(&object));
    run(Command::new(GCC).args(stated(&source, "link").split(' ')).arg(&object).arg("-o").arg(&linked));
    let symbols = run(Command::new("aarch64-linux-gnu-nm").arg(&linked));
    let at = symbols.lines().find_map(|line| line.strip_suffix(" t site")).expect("the label `site`");
    let at = Svma(u64::from_str_radix(at, 16).expect("an address"));
    let bytes = fs::read(&linked).expect("the linked file");
    let new = words(&fs::read(&replacement).expect("the replacement"));
    let image = Image::parse(&bytes, None).expect("an ELF file");
    let code = image.code_at(at).expect("code");
    let old = words(&image.bytes_at(at).expect("code")[..4 * new.len()]);
    let file_offset = code.file_offset + (at.0 - code.extent.start.0);
    let rule = stated(&source, "rule");
    let rule = RULES.iter().find(|known| **known == rule).expect("a rule");
    let site = Site { rule, function: None, at, file_offset, old, new, trampoline: None, spins: false };
    Case { name, says: stated(&source, "says").to_owned(), bytes, site }
}

/// All cases, built in a folder of that name.
fn cases(folder: &str) -> Vec<Case> {
    require(GCC);
    let dir = work_dir(folder);
    let sources = fs::read_dir(repository().join("tests/audited")).expect("the sources");
    let mut sources: Vec<PathBuf> = sources.map(|entry| entry.expect("a source").path()).collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "S"));
    sources.sort();
    sources.iter().map(|path| built(&dir, path)).collect()
}

#[test]
fn a_change_is_refused_for_what_is_around_it_by_the_audit_alone() {
    let mut wrong = Vec::new();
    for Case { name, says, bytes, site } in cases("audited") {
        let image = Image::parse(&bytes, None).expect("an ELF file");
        let found = audit(&image, with_lse(), &[Subject::from(&site)]);
        let concern = found.first().map(|contradiction| format!("{:?}", contradiction.concern));
        let concern = concern.unwrap_or_else(|| "nothing".to_owned());
        if concern.split(['(', ' ']).next() != Some(&*says) {
            wrong.push(format!("{name}: {concern} instead of {says}"));
        }
        if says != "nothing" {
            let plan = Plan { sites: vec![site], refused: Vec::new() };
            let patched = apply(&bytes, &plan, &ApplyOptions::default());
            if patched.is_ok_and(|patched| verify(&bytes, &patched).is_ok()) {
                wrong.push(format!("{name}: verified"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Changes that the plan makes by itself where the audit agrees.
const PLANNED: &[&str] = &["helper-none", "helper-svc", "helper-veneer", "monitor-sevl"];

#[test]
fn what_the_audit_agrees_with_the_plan_has_or_refuses_for_a_reason_of_its_own() {
    let request = PlanRequest { target: Some(with_lse()), ..PlanRequest::default() };
    let mut planned = 0;
    for Case { name, says, bytes, site } in
        cases("audited-planned").into_iter().filter(|case| case.says == "nothing")
    {
        let made = plan(&bytes, &request).expect("a plan");
        let refused = made.refused.iter().find(|refused| refused.at == site.at);
        let is_contradiction = refused.is_some_and(|it| matches!(it.reason, Reason::Contradiction(_)));
        assert!(!is_contradiction, "{name}, {says}: {refused:?}");
        if PLANNED.contains(&&*name) {
            assert!(made.sites.iter().any(|it| it.at == site.at), "{name}: {refused:?}");
            planned += 1;
        }
    }
    assert_eq!(planned, PLANNED.len());
}

//! The command with a configuration: machines, rules, severities, allowances, and the file that
//! --add-allowances writes.

use super::fixtures::{check, folder, run};
use super::packages::tar;
use super::{Scratch, assert_as_recorded, stderr, stdout};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

const LLSC: &str = "llsc_loop/hit-cas.o";
const OUTLINED: &str = "outlined_atomic/hit-libgcc.o";
const AVX512: &str = "above_baseline/hit-avx512-above-v3.o";

/// Checks with a configuration, and returns the findings of the first file by rule and severity, too.
fn configured(text: &str, arguments: &[&str]) -> (Output, Vec<(String, String)>) {
    // Tests run side by side in one process.
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let scratch = Scratch::new(&format!("configured-{}", TURN.fetch_add(1, Ordering::Relaxed)));
    let config = scratch.file("deburr.toml", text.as_bytes());
    let output = check(&[&["--format", "json", "--config", &config], arguments].concat());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let findings = document["files"][0]["findings"].as_array().cloned().unwrap_or_default();
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let findings = findings.iter().map(|it| (word(it, "rule"), word(it, "severity"))).collect();
    (output, findings)
}

/// Exit status 1 is for what is known to be wrong, unless the user wants proofs.
#[test]
fn what_is_not_proven_is_a_note_unless_the_check_is_strict() {
    let unknown = "above_baseline/hit-not-followed.o";
    let note = vec![("above-baseline".to_owned(), "note".to_owned())];
    let warning = vec![("above-baseline".to_owned(), "warning".to_owned())];
    for (text, arguments, findings, status) in [
        ("", &[][..], &note, 0),
        ("", &["--strict"], &warning, 1),
        ("strict = true", &[], &warning, 1),
        ("strict = true", &["--fail-on", "error"], &warning, 1),
        ("strict = true", &["--fail-on", "never"], &warning, 0),
        // Whatever its notes are called, the file is undecided, and a strict run fails by that.
        ("strict = true\n[severity]\nabove-baseline = \"note\"", &[], &note, 1),
        ("[severity]\nabove-baseline = \"note\"", &[], &note, 0),
        ("", &["--fail-on", "note"], &note, 1),
    ] {
        let arguments = [&["--baseline", "x86-64-v2", unknown], arguments].concat();
        let (output, found) = configured(text, &arguments);
        assert_eq!((&found, output.status.code()), (findings, Some(status)), "{text} {arguments:?}");
    }
}

#[test]
fn configuration_is_an_option_that_the_command_line_overrides() {
    for (text, arguments, findings, status) in [
        ("", &[LLSC][..], 3, 1),
        ("target = \"armv8.0-a\"", &[LLSC], 3, 0),
        ("target = \"armv8.0-a\"", &[LLSC, "--target", "armv8.1-a"], 3, 1),
        ("target = \"armv8.0-a\"", &[LLSC, "--target", "zen4"], 3, 0),
        ("baseline = [\"x86-64-v3\", \"armv8.0-a\"]", &[AVX512], 1, 1),
        ("baseline = \"x86-64-v3\"", &[AVX512, "--baseline", "x86-64-v4"], 0, 0),
        ("select = \"outlined-atomic\"", &[LLSC], 0, 0),
        ("select = \"outlined-atomic\"", &[LLSC, "--select", "llsc-loop"], 3, 1),
        ("ignore = [\"llsc-loop\"]", &[LLSC], 0, 0),
        ("ignore = [\"llsc-loop\"]", &[LLSC, "--select", "llsc-loop"], 3, 1),
        ("ignore = [\"llsc-loop\"]", &[LLSC, "--ignore", "outlined-atomic"], 3, 1),
        ("fail-on = \"note\"", &[OUTLINED], 2, 1),
        ("fail-on = \"note\"", &[OUTLINED, "--fail-on", "error"], 2, 0),
        ("[severity]\noutlined-atomic = \"error\"", &[OUTLINED, "--fail-on", "error"], 2, 1),
        ("[severity]\nllsc-loop = \"off\"", &[LLSC], 0, 0),
        ("[severity]\nllsc-loop = \"off\"", &[LLSC, "--select", "llsc-loop"], 3, 1),
    ] {
        let (output, found) = configured(text, arguments);
        assert_eq!((found.len(), output.status.code()), (findings, Some(status)), "{text} {arguments:?}");
    }
    let (_, found) = configured("[severity]\nllsc-loop = \"note\"", &[LLSC]);
    assert!(found.iter().all(|finding| *finding == ("llsc-loop".to_owned(), "note".to_owned())), "{found:?}");
}

#[test]
fn show_and_diff_are_configured_as_check_is() {
    let scratch = Scratch::new("configured-show-diff");
    let asked = |text: &str, arguments: &[&str]| {
        let config = scratch.file("deburr.toml", text.as_bytes());
        let output = run(&[arguments, &["--config", &config, "--format", "json"]].concat());
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        (document, output.status.code())
    };
    for (text, arguments, severities) in [
        ("", &[][..], &["warning"][..]),
        ("target = \"armv8.0-a\"", &[], &["note"]),
        ("target = \"armv8.0-a\"", &["--target", "armv8.1-a"], &["warning"]),
        ("ignore = \"llsc-loop\"", &[], &[]),
        ("select = \"outlined-atomic\"", &[], &[]),
        ("[severity]\nllsc-loop = \"error\"", &[], &["error"]),
        ("[severity]\nllsc-loop = \"off\"", &[], &[]),
    ] {
        let (document, _) = asked(text, &[&["show", LLSC, "cas_4_seq_cst"], arguments].concat());
        let insns = document["insns"].as_array().unwrap().iter();
        let findings = insns.flat_map(|insn| insn["findings"].as_array().unwrap());
        let found: Vec<_> = findings.map(|finding| finding["severity"].as_str().unwrap()).collect();
        assert_eq!(found, severities, "{text} {arguments:?}");
    }
    let plain = "llsc_loop/miss-lse.o";
    for (text, arguments, severity, status) in [
        ("", &[][..], Some("warning"), 1),
        ("target = \"armv8.0-a\"", &[], Some("note"), 0),
        ("target = \"armv8.0-a\"\nfail-on = \"note\"", &[], Some("note"), 1),
        ("fail-on = \"error\"", &[], Some("warning"), 0),
        ("fail-on = \"error\"", &["--fail-on", "warning"], Some("warning"), 1),
        ("ignore = \"llsc-loop\"", &[], None, 0),
        ("[severity]\nllsc-loop = \"off\"", &[], None, 0),
        ("[severity]\nllsc-loop = \"error\"", &["--fail-on", "error"], Some("error"), 1),
    ] {
        let (document, code) = asked(text, &[&["diff", plain, LLSC], arguments].concat());
        let came = document["files"][0]["came"].as_array().unwrap();
        assert_eq!((came.len(), code), (severity.map_or(0, |_| 3), Some(status)), "{text} {came:?}");
        assert!(came.iter().all(|group| group["severity"].as_str() == severity), "{text}");
    }
}

#[test]
fn allowed_findings_are_counted_and_no_longer_found() {
    let text = "[[allow]]\nrule = \"llsc-loop\"\nfunction = \"cas_?_*\"\nreason = \"start-up only\"\n";
    let (output, found) = configured(text, &[LLSC]);
    assert_eq!((found.len(), output.status.code(), stderr(&output).as_str()), (0, Some(0), ""));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&document["files"][0]["allowed"], &document["statistics"]["allowed"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(document["statistics"]["findings_by_rule"], json!({}));
    let (output, found) = configured(&text.replace("cas_?_*", "cas_1_acquire"), &[LLSC]);
    assert_eq!((found.len(), output.status.code()), (2, Some(1)));
}

#[test]
fn stale_and_exceeded_allowances_are_reported() {
    let text = "[[allow]]\nrule = \"llsc-loop\"\nfunction = \"gone\"\nreason = \"r\"\n\
                [[allow]]\nrule = \"llsc-loop\"\nfile = \"hit-cas.o\"\ncount = 2\nreason = \"r\"\n";
    let (output, found) = configured(text, &[LLSC]);
    assert_eq!((found.len(), output.status.code()), (3, Some(1)));
    let told = stderr(&output);
    for expected in [
        "deburr.toml:1: the allowance of `llsc-loop` in gone is stale: it allows no finding of the run\n",
        "deburr.toml:5: the allowance of `llsc-loop` of hit-cas.o is exceeded: it allows 2 a file, but \
         llsc_loop/hit-cas.o has 3\n",
    ] {
        assert!(told.contains(expected), "{told}");
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["stale_allowances"][0]["function"], "gone");
    assert_eq!(document["exceeded_allowances"][0]["file"], "hit-cas.o");
}

#[test]
fn run_with_allowances_is_as_recorded() {
    let scratch = Scratch::new("recorded-allowances");
    let text = "[[allow]]\nrule = \"llsc-loop\"\nfunction = \"cas_4_*\"\nreason = \"start-up only\"\n";
    let config = scratch.file("deburr.toml", text.as_bytes());
    let output = check(&["--config", &config, LLSC]);
    let session =
        format!("$ cat deburr.toml\n{text}$ deburr check {LLSC}\n{}[exit status 1]\n", stdout(&output))
            .replace(&config, "deburr.toml");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
    assert_as_recorded("allowed.session", &session);
}

#[test]
fn added_allowances_make_the_next_run_clean() {
    let scratch = Scratch::new("added");
    for name in [LLSC, OUTLINED, "outlined_atomic/hit-stripped.o"] {
        let object = std::fs::read(folder().join(name)).unwrap();
        scratch.file(&format!("build/{}", name.replace('/', "-")), &object);
    }
    let run = |arguments: &[&str]| {
        let mut command = Command::new(crate::program());
        let output =
            command.current_dir(scratch.as_str()).args(["check", "build"]).args(arguments).output().unwrap();
        (output.status.code(), stdout(&output), stderr(&output))
    };
    assert_eq!(run(&["--fail-on", "note"]).0, Some(1));
    let (status, text, told) = run(&["--fail-on", "note", "--add-allowances"]);
    assert_eq!(status, Some(0), "{text}{told}");
    assert!(told.starts_with("deburr: ") && told.ends_with(" findings added to deburr.toml\n"), "{told}");
    let path = Path::new(scratch.as_str()).join("deburr.toml");
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(
        written.starts_with("[[allow]]\nrule = \"llsc-loop\"\nfile = \"build/llsc_loop-hit-cas.o\"\n"),
        "{written}"
    );
    let (status, text, told) = run(&["--fail-on", "note"]);
    assert_eq!((status, told.as_str()), (Some(0), ""), "{text}");
    assert!(
        text.contains("3 files checked: no findings; ") && text.contains(" findings allowed\n"),
        "{text}"
    );
    let (_, _, told) = run(&["--add-allowances"]);
    let nothing = format!("deburr: no allowances added to {}: there is nothing to allow\n", path.display());
    assert_eq!(told, nothing);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
    std::fs::remove_file(&path).unwrap();
    run(&["--add-allowances=ci.toml"]);
    assert_eq!(std::fs::read_to_string(Path::new(scratch.as_str()).join("ci.toml")).unwrap(), written);
    assert!(!path.exists());
}

#[test]
fn configuration_that_others_could_have_written_is_read_only_where_it_is_named() {
    let scratch = Scratch::new("distrusted");
    scratch.file("below/a.o", &std::fs::read(folder().join(LLSC)).unwrap());
    let config = scratch.file("deburr.toml", b"ignore = \"llsc-loop\"\n");
    let below = scratch.join("below");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(crate::program());
        let command =
            command.current_dir(&below).args(["check", "--target", "neoverse-n1", "a.o"]).args(arguments);
        let output = command.output().unwrap();
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let mode = |mode| std::fs::set_permissions(&config, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    let (status, text, told) = run(&[]);
    assert_eq!((status, told.as_str()), (Some(0), ""));
    let line = format!("configuration: {config}: rules left out: llsc-loop\n");
    assert!(text.contains(&line), "{text}");
    let (_, text, told) = run(&["-q"]);
    assert_eq!((text.as_str(), told), ("", format!("deburr: {line}")));
    let (_, text, _) = run(&["--format", "json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({
        "path": config, "rules_left_out": ["llsc-loop"], "severity": {}, "stated_guards": 0, "findings_allowed": 0
    });
    assert_eq!(document["configuration"], expected);
    mode(0o646);
    for arguments in [&[][..], &["--format", "json"], &["-q"]] {
        let (status, text, told) = run(arguments);
        assert_eq!((status, text.as_str()), (Some(2), ""), "{told}");
        assert!(
            told.contains("everybody may write to it") && told.contains(&format!("--config {config}")),
            "{told}"
        );
    }
    assert_eq!(run(&["--config", &config]).0, Some(0), "who names it trusts it");
    mode(0o664);
    assert_eq!(run(&[]).0, Some(0), "a group is chosen by the owner");
    // Whose it is only root can change.
    if std::os::unix::fs::chown(&config, Some(12345), None).is_ok() {
        let (status, _, told) = run(&[]);
        assert_eq!(status, Some(2));
        assert!(told.contains("it belongs to the user 12345"), "{told}");
        let mut command = Command::new(crate::program());
        let command = command.current_dir(&below).args(["check", "a.o"]).env("SUDO_UID", "12345");
        assert_eq!(command.status().unwrap().code(), Some(0), "root is whoever called sudo");
    }
}

#[test]
fn what_has_the_name_of_a_configuration_and_is_none_ends_the_run() {
    let scratch = Scratch::new("no-configuration");
    scratch.file("below/a.o", &std::fs::read(folder().join(LLSC)).unwrap());
    let config = scratch.join("deburr.toml");
    let refused = |what: &str| {
        let mut command = Command::new(crate::program());
        let output = command.current_dir(scratch.join("below")).args(["check", "a.o"]).output().unwrap();
        let told = stderr(&output);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{told}");
        assert!(told.contains(&format!("{}: {what}", config.display())), "{told}");
    };
    std::os::unix::fs::symlink("nowhere", &config).unwrap();
    refused(
        "a link to what is not there; expected a configuration: remove it, or name another one (--config FILE)",
    );
    std::fs::remove_file(&config).unwrap();
    std::fs::create_dir(&config).unwrap();
    refused("no regular file; expected a configuration");
    std::fs::remove_dir(&config).unwrap();
    assert!(Command::new("mkfifo").arg(&config).status().unwrap().success());
    // Nobody writes to it.
    refused("no regular file; expected a configuration");
    let mut command = Command::new(crate::program());
    let output =
        command.current_dir(scratch.join("below")).args(["check", "--config", "/dev/zero", "a.o"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("/dev/zero: has more than 64 MiB; expected a configuration"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn configuration_in_a_package_or_a_folder_that_is_checked_is_not_read() {
    let scratch = Scratch::new("unread-configuration");
    let object = std::fs::read(folder().join(LLSC)).unwrap();
    let config = b"ignore = \"llsc-loop\"\n".to_vec();
    scratch.file("tree/a.o", &object);
    scratch.file("tree/deburr.toml", &config);
    let package = tar(&[("deburr.toml".to_owned(), config), ("a.o".to_owned(), object)]);
    let package = scratch.file("x.tar", &package);
    for path in [scratch.join("tree").to_str().unwrap(), &package] {
        let output = check(&["--target", "neoverse-n1", path]);
        assert_eq!(output.status.code(), Some(1), "{path}");
        assert!(!stdout(&output).contains("configuration:"), "{}", stdout(&output));
    }
}

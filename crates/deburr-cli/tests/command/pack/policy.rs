//! `deburr pack policy`: the rules for what was laid out, word by word. `scripts/test-packaging` puts them to the real tools.

use crate::{deburr, stderr, stdout};
use deburr_test_support::Scratch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LEVELS: [(&str, &str); 2] = [("x86-64-v1", "-march=x86-64"), ("x86-64-v3", "-march=x86-64-v3")];

/// What a policy says of the places, and of all else below the folder of the trees.
const CONTEXTS: &str = "/usr(/.*)?\tsystem_u:object_r:usr_t:s0
/usr/(.*/)?s?bin(/.*)?\tsystem_u:object_r:bin_t:s0
/usr/lib(/.*)?\tsystem_u:object_r:lib_t:s0
/usr/libexec(/.*)?\tsystem_u:object_r:bin_t:s0
/usr/sbin/d[^/]*\t--\tsystem_u:object_r:served_exec_t:s0
/usr/lib/served/modules(/.*)?\tsystem_u:object_r:served_modules_t:s0
";

/// A service `usr/sbin/d+aemon`, a program without a type of its own, and a plug-in, laid out.
fn lay_out(scratch: &Scratch, options: &[&str]) -> PathBuf {
    for (level, flag) in LEVELS {
        for (path, more) in [
            ("usr/sbin/d+aemon", &[][..]),
            ("usr/bin/plain", &[]),
            ("usr/lib/served/modules/plug.so", &["-shared", "-fPIC"]),
        ] {
            let to = scratch.join(level).join(path);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            let source =
                scratch.file("source.c", b"const char *level = LEVEL; int main(void) { return !level; }");
            let mut gcc = Command::new("gcc");
            gcc.args([flag, &format!("-DLEVEL=\"{level}\"")]).args(more).arg("-o").arg(to).arg(source);
            assert!(gcc.status().unwrap().success());
        }
    }
    let variants = LEVELS.map(|(level, _)| format!("--variant={level}={}", scratch.join(level).display()));
    let dist = scratch.join("dist");
    let to = dist.to_str().unwrap();
    let output = deburr(
        &[&["pack", "assemble", "--no-check", &variants[0], &variants[1], "-o", to], options].concat(),
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    dist
}

/// Runs the step, and returns what it says: on the standard output, or as an error.
fn policy(dist: &Path, options: &[&str]) -> Result<String, String> {
    let to = dist.with_file_name("policy");
    let (dist, to) = (dist.to_str().unwrap(), to.to_str().unwrap());
    let output = deburr(&[&["pack", "policy", dist, "-o", to], options].concat());
    match output.status.code() {
        Some(0) => Ok(stdout(&output)),
        code => {
            assert_eq!((code, Path::new(to).exists()), (Some(2), false), "{}", stderr(&output));
            Err(stderr(&output))
        }
    }
}

#[test]
fn variants_get_the_labels_of_their_places_and_domains_what_a_start_needs() {
    let scratch = Scratch::new("pack-policy-selinux");
    let dist = lay_out(&scratch, &["--prefix", "/", "--split", "--place", "usr/libexec/levels"]);
    let contexts = scratch.file("file_contexts", CONTEXTS.as_bytes());
    let contexts = contexts.as_str();
    let said = policy(&dist, &["--selinux", contexts]).unwrap();
    let module = scratch.join("policy/levels-levels.cil");
    assert_eq!(said, format!("/usr/sbin/d+aemon: served_exec_t, domain served_t\n{}\n", module.display()));
    let expected = r#";; levels-levels: labels and rules for the launchers and variants of deburr pack.
;; Install: semodule -i levels-levels.cil, then restorecon -R on the folder of the trees.
(optional deburr_levels_levels_label_0
    (filecon "/usr/libexec/levels/[0-9a-f]+/[^/]+/sbin/d\+aemon" file (system_u object_r served_exec_t ((s0) (s0))))
    (filecon "/usr/libexec/levels/start/sbin/d\+aemon" file (system_u object_r served_exec_t ((s0) (s0))))
)
(optional deburr_levels_levels_label_1
    (filecon "/usr/libexec/levels/[0-9a-f]+/[^/]+/lib/served/modules/plug\.so" file (system_u object_r served_modules_t ((s0) (s0))))
)
(optional deburr_levels_levels_served_t
    (allow served_t bin_t (dir (getattr search)))
    (allow served_t bin_t (lnk_file (getattr read)))
    (allow served_t served_exec_t (file (getattr open read map execute execute_no_trans)))
    (allow served_t served_modules_t (file (getattr open read map execute)))
)
"#;
    assert_eq!(fs::read_to_string(&module).unwrap(), expected);
    // Other domains than the name says, under another name.
    fs::remove_dir_all(scratch.join("policy")).unwrap();
    let domains = ["--domain=served_exec_t=one_t", "--domain=served_exec_t=two_t", "--name=other"];
    let said = policy(&dist, &[&["--selinux", contexts], &domains[..]].concat()).unwrap();
    assert!(said.starts_with("/usr/sbin/d+aemon: served_exec_t, domain one_t, two_t\n"), "{said}");
    let module = fs::read_to_string(scratch.join("policy/other.cil")).unwrap();
    for line in ["(optional deburr_other_one_t", "    (allow two_t served_exec_t (file "] {
        assert!(module.contains(line), "{module}");
    }
    assert!(!module.contains(" served_t "), "{module}");
}

#[test]
fn profiles_hold_for_launcher_and_variants_by_aliases_and_an_abstraction_of_each_program() {
    let scratch = Scratch::new("pack-policy-apparmor");
    let dist = lay_out(&scratch, &["--prefix", "/", "--place", "usr/lib/levels"]);
    let said = policy(&dist, &["--apparmor"]).unwrap();
    let files = [
        (
            "tunables/multiarch.d/levels-levels",
            r##"# levels-levels: rules for programs and libraries hold for their variants, which deburr pack laid out.
alias "/usr/bin/plain" -> "/usr/lib/levels/start/bin/plain",
alias "/usr/bin/plain" -> "/usr/lib/levels/[0-9a-f]*/*/bin/plain",
alias "/usr/lib/served/modules/plug.so" -> "/usr/lib/levels/[0-9a-f]*/*/lib/served/modules/plug.so",
alias "/usr/sbin/d+aemon" -> "/usr/lib/levels/start/sbin/d+aemon",
alias "/usr/sbin/d+aemon" -> "/usr/lib/levels/[0-9a-f]*/*/sbin/d+aemon",
"##,
        ),
        (
            "abstractions/levels-levels/usr.bin.plain",
            r##"# For the profile of /usr/bin/plain: its launcher starts a variant under the same profile.
  "/usr/lib/levels/start/bin/plain" mr,
  "/usr/lib/levels/[0-9a-f]*/*/bin/plain" mrix,
  "/usr/lib/levels/[0-9a-f]*/*/lib/served/modules/plug.so" mr,
"##,
        ),
        (
            "abstractions/levels-levels/usr.sbin.d+aemon",
            r##"# For the profile of /usr/sbin/d+aemon: its launcher starts a variant under the same profile.
  "/usr/lib/levels/start/sbin/d+aemon" mr,
  "/usr/lib/levels/[0-9a-f]*/*/sbin/d+aemon" mrix,
  "/usr/lib/levels/[0-9a-f]*/*/lib/served/modules/plug.so" mr,
"##,
        ),
    ];
    let folder = scratch.join("policy/apparmor.d");
    let names: String = files.iter().map(|(name, _)| format!("{}\n", folder.join(name).display())).collect();
    assert_eq!(said, names);
    for (name, text) in files {
        assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), text);
    }
}

#[test]
fn what_the_machine_chooses_has_the_rules_of_its_launchers_and_variants() {
    let policies = Scratch::new("pack-policy-contexts");
    let contexts = policies.file("file_contexts", CONTEXTS.as_bytes());
    let written =
        [&["--prefix", "/"][..], &["--prefix", "/", "--select"], &["--prefix", "/", "--select", "--split"]]
            .map(|options| {
                let scratch = Scratch::new("pack-policy-select");
                let dist = lay_out(&scratch, options);
                policy(&dist, &["--apparmor", "--selinux", &contexts]).unwrap();
                let mut all = Command::new("sh");
                all.args(["-c", "cd \"$1\" && find . -type f | sort | xargs tail -n +1", "sh"]);
                stdout(&all.arg(scratch.join("policy")).output().unwrap())
            });
    assert!(
        written[0].contains("served_exec_t") && written[0].contains("alias \"/usr/bin/plain\""),
        "{}",
        written[0]
    );
    assert!(written[0] == written[1] && written[1] == written[2], "{}", written[1]);
}

#[test]
fn in_one_tree_for_all_levels_each_variant_is_at_its_own_path() {
    let scratch = Scratch::new("pack-policy-shared");
    let dist = lay_out(&scratch, &["--prefix", "/", "--layout", "shared", "--unproven-types"]);
    let contexts = scratch.file("file_contexts", CONTEXTS.as_bytes());
    policy(&dist, &["--selinux", &contexts, "--apparmor", "--name", "n"]).unwrap();
    let module = fs::read_to_string(scratch.join("policy/n.cil")).unwrap();
    for label in [
        r#""/usr/sbin-x86-64-v1/d\+aemon" file (system_u object_r served_exec_t "#,
        r#""/usr/sbin-x86-64-v3/d\+aemon" file (system_u object_r served_exec_t "#,
        // A folder like bin-x86-64-v3 is unknown to policies.
        r#""/usr/bin-x86-64-v3/plain" file (system_u object_r bin_t "#,
    ] {
        assert!(module.contains(label), "{module}");
    }
    assert!(!module.contains("start"), "{module}");
    let aliases = fs::read_to_string(scratch.join("policy/apparmor.d/tunables/multiarch.d/n")).unwrap();
    for alias in [
        "alias \"/usr/bin/plain\" -> \"/usr/bin-x86-64-v1/plain\",\n",
        "alias \"/usr/lib/served/modules/plug.so\" -> \"/usr/lib/served/modules/plug.so.variants/x86-64-v3/plug.so\",\n",
    ] {
        assert!(aliases.contains(alias), "{aliases}");
    }
}

#[test]
fn what_rules_cannot_be_written_for_is_refused_with_what_to_do() {
    let scratch = Scratch::new("pack-policy-refused");
    let dist = lay_out(&scratch, &[]);
    let refused = policy(&dist, &["--apparmor"]).unwrap_err();
    let launcher = dist.join("usr/lib/plain/start/bin/plain");
    let expected = format!("deburr: {}: it is laid out without --prefix", launcher.display());
    assert!(refused.starts_with(&expected) && refused.contains("--prefix /"), "{refused}");
    fs::remove_dir_all(&dist).unwrap();
    let dist = lay_out(&scratch, &["--prefix", "/"]);
    for (text, expected) in [
        (CONTEXTS, "deburr: --domain none_exec_t=…: no program of the tree has this type"),
        ("/usr/(?=sbin).* u:r:t:s0\n", "file_contexts:1: expected a regular expression without look-around"),
        (
            "/usr/sbin gen_context(system_u:object_r:x, s0) y\n",
            "file_contexts:1: expected a path, perhaps a kind",
        ),
        ("", "file_contexts: expected the file contexts of a policy"),
    ] {
        let contexts = scratch.file("file_contexts", text.as_bytes());
        let options = ["--selinux", contexts.as_str(), "--domain", "none_exec_t=none_t"];
        let refused = policy(&dist, &options).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    let whole = scratch.join("whole");
    assert!(Command::new("cp").arg("-a").args([&dist, &whole]).status().unwrap().success());
    fs::remove_file(whole.join("usr/sbin/d+aemon")).unwrap();
    fs::remove_file(whole.join("usr/bin/plain")).unwrap();
    let refused = policy(&whole, &["--apparmor"]).unwrap_err();
    assert!(refused.contains("its place is not known"), "{refused}");
    assert!(policy(&dist, &[]).unwrap_err().contains("--selinux <FILE_CONTEXTS>|--apparmor"));
    assert!(policy(scratch.path(), &["--apparmor"]).unwrap_err().contains("deburr-pack.json"));
    // A policy that labels the trees as it should needs no module.
    let contexts = scratch.file("file_contexts", b"/usr/.* system_u:object_r:usr_t:s0\n");
    let said = policy(&dist, &["--selinux", &contexts]).unwrap();
    assert!(said.contains("no module is needed") && !scratch.join("policy").exists(), "{said}");
}

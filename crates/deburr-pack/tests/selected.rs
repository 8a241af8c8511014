//! Trees with links that the machine has chosen: the path of a program leads to what runs, and each process starts with one level.

mod common;
#[path = "common/trees.rs"]
mod trees;

use common::compile;
use deburr_pack::assemble::{Request, assemble};
use deburr_pack::install::{Choice, install, remove};
use deburr_test_support::Scratch;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use trees::{listing, run, said, trees, unpack};

/// Trees that let the machine choose, in their own place.
fn selected(scratch: &Scratch, version: &str) -> Request {
    let place = Some("usr/lib/prog-levels".into());
    Request { is_selected: true, place, ..trees(scratch, version, "usr/") }
}

fn script(installed: &Path) -> PathBuf {
    installed.join("usr/lib/prog-levels/select")
}

/// Runs the script, and gives back what it says.
fn choose(installed: &Path, argument: &[&str]) -> String {
    let output = Command::new(script(installed)).args(argument).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn chosen(installed: &Path) -> PathBuf {
    fs::read_link(installed.join("usr/lib/prog-levels/selected")).unwrap()
}

/// What `prog` says of itself, its library and its plug-in, if all three are of one build.
fn build_of(installed: &Path) -> String {
    let said = said(&run(&installed.join("usr/bin/prog"), ""));
    let words: BTreeSet<&str> = said.split_whitespace().take(3).collect();
    assert_eq!(words.len(), 1, "one program of several builds: {words:?}");
    words.into_iter().next().unwrap().to_owned()
}

/// A daemon that waits, and ends with its test.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn the_path_of_a_program_is_that_of_what_runs_once_the_machine_has_chosen() {
    let scratch = Scratch::new("selected-path");
    let request = selected(&scratch, "one");
    for source in &request.sources {
        let who = format!("-DWHO=\"{}\"", source.level);
        // The line says that it runs what it is, and no launcher any more.
        let daemon =
            "#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts(WHO); fflush(stdout); pause(); }";
        compile(&source.tree, "usr/sbin/daemon-of-levels", daemon, &[&who]);
    }
    let dist = scratch.join("dist");
    assemble(&request, &dist).unwrap();
    let program = dist.join("usr/sbin/daemon-of-levels");
    let start = |program: &Path| {
        let mut child =
            Command::new(program).stdout(Stdio::piped()).env_remove("DEBURR_LEVEL").spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
            .unwrap();
        assert_eq!(line, "x86-64-v3\n");
        Daemon(child)
    };
    // Who compares the program's path with what runs: dpkg's tool by `stat`, sysvinit's by the link.
    let is_found = |daemon: &Daemon| {
        let status =
            Command::new("start-stop-daemon").args(["--status", "--exec"]).arg(&program).status().unwrap();
        let pids = Command::new("pidof").arg(&program).output().unwrap();
        let pids = String::from_utf8(pids.stdout).unwrap();
        (status.code(), pids.split_whitespace().any(|pid| pid == daemon.0.id().to_string()))
    };
    let launched = start(&program);
    assert_eq!(is_found(&launched), (Some(3), false), "the launcher is another file than what it starts");
    drop(launched);
    assert_eq!(choose(&dist, &["--always"]), "");
    let daemon = start(&program);
    assert_eq!(is_found(&daemon), (Some(0), true));
    let exe = fs::metadata(format!("/proc/{}/exe", daemon.0.id())).unwrap();
    assert_eq!(exe.ino(), fs::metadata(&program).unwrap().ino());
    assert_eq!(build_of(&dist), "one-x86-64-v3");
    for alias in ["usr/bin/alias", "usr/sbin/other"] {
        assert!(said(&run(&dist.join(alias), "")).starts_with("one-x86-64-v3 one-x86-64-v3 one-x86-64-v3 "));
    }
    // What is opened at its place is of the level, too.
    let plug_in = dist.join("usr/lib/app/p.so");
    assert!(fs::canonicalize(&plug_in).unwrap().to_str().unwrap().contains("/x86-64-v3/lib/app/"));
    assert_eq!(choose(&dist, &["--launcher"]), "");
    assert!(fs::canonicalize(&plug_in).unwrap().to_str().unwrap().contains("/x86-64-v1/lib/app/"));
    assert_eq!((chosen(&dist), build_of(&dist)), ("start".into(), "one-x86-64-v3".to_owned()));
}

#[test]
fn the_launcher_stays_where_nothing_chooses_again() {
    let scratch = Scratch::new("selected-where");
    let dist = scratch.join("dist");
    let prefix = dist.to_str().map(str::to_owned);
    assemble(&Request { prefix, ..selected(&scratch, "one") }, &dist).unwrap();
    let unit = "usr/lib/systemd/system/sysinit.target.wants/prog-levels.service";
    let text = fs::read_to_string(dist.join(unit)).unwrap();
    assert!(
        text.contains(&format!("\nExecStart={} --always\n", script(&dist).display()))
            && text.contains("\nBefore=sysinit.target\n")
    );
    // Here no systemd runs.
    assert!(choose(&dist, &[]).contains("nothing chooses again at the next boot"));
    assert_eq!(chosen(&dist), Path::new("start"));
    // On a machine that runs it the level is chosen, unless the unit is masked or gone, or in a chroot.
    let within = |prepare: &str, run: &str| {
        let machine = "mount -t tmpfs none /run; mount -t tmpfs none /etc; mkdir -p /run/systemd/system /etc/systemd/system";
        let tried = format!("set -e; {machine}; {prepare}; {run} {}", script(&dist).display());
        let unshare = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c"];
        let output = Command::new("unshare").args(unshare).arg(&tried).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let tree = chosen(&dist);
        choose(&dist, &["--launcher"]);
        tree.file_name().unwrap().to_str().unwrap().to_owned()
    };
    assert_eq!(within(":", ""), "x86-64-v3");
    assert_eq!(within("ln -s /dev/null /etc/systemd/system/prog-levels.service", ""), "start");
    let chroot = "new=$(mktemp -d); mount -t tmpfs none $new; for it in /*; do
        if [ -L $it ]; then cp -a $it $new; elif [ -d $it ]; then mkdir $new$it; mount --rbind $it $new$it; fi; done";
    assert_eq!(within(chroot, "chroot $new"), "start");
    fs::remove_file(dist.join(unit)).unwrap();
    assert_eq!(within(":", ""), "start");
}

#[test]
fn at_each_step_of_an_upgrade_in_any_order_a_whole_program_starts() {
    let scratch = Scratch::new("selected-upgrade");
    for version in ["one", "two"] {
        let request = Request { is_split: true, ..selected(&scratch, version) };
        assemble(&request, &scratch.join(format!("{version}/dist"))).unwrap();
    }
    let package = |version: &str, name: &str| scratch.join(format!("{version}/dist/{name}"));
    for order in [["base", "x86-64-v3"], ["x86-64-v3", "base"]] {
        let installed = scratch.join(format!("installed-{}", order[0]));
        fs::create_dir(&installed).unwrap();
        unpack(&package("one", "base"), None, &installed, &mut || {});
        assert_eq!(
            (choose(&installed, &["--always"]).as_str(), build_of(&installed).as_str()),
            ("", "one-x86-64-v1")
        );
        unpack(&package("one", "x86-64-v3"), None, &installed, &mut || {});
        choose(&installed, &["--always"]);
        assert_eq!(build_of(&installed), "one-x86-64-v3");
        assert!(chosen(&installed).ends_with("x86-64-v3"));
        let mut seen = BTreeSet::new();
        for name in order {
            // What a package's prerm does.
            if name != "base" {
                choose(&installed, &["--launcher"]);
            }
            let mut look = || seen.extend([build_of(&installed)]);
            unpack(&package("two", name), Some(&package("one", name)), &installed, &mut look);
        }
        // As the package has it, the link leads to the launchers.
        assert_eq!((chosen(&installed), build_of(&installed)), ("start".into(), "two-x86-64-v3".to_owned()));
        choose(&installed, &["--always"]);
        assert!(chosen(&installed).ends_with("x86-64-v3"));
        assert!(seen.len() >= 2, "{seen:?}");
        // A tree that went away without a word is not chosen again.
        let tree = installed.join("usr/lib/prog-levels").join(chosen(&installed));
        fs::remove_dir_all(&tree).unwrap();
        fs::remove_file(format!("{}_whole", tree.display())).unwrap();
        choose(&installed, &["--always"]);
        assert_eq!(build_of(&installed), "two-x86-64-v1");
    }
}

#[test]
fn a_set_user_id_program_keeps_its_launcher() {
    let scratch = Scratch::new("selected-rights");
    let mut request = Request { prefix: Some("/".into()), ..selected(&scratch, "one") };
    for source in &request.sources {
        fs::set_permissions(source.tree.join("usr/bin/prog"), fs::Permissions::from_mode(0o4755)).unwrap();
    }
    let dist = scratch.join("dist");
    assemble(&request, &dist).unwrap();
    choose(&dist, &["--always"]);
    assert!(chosen(&dist).ends_with("x86-64-v3"), "`same` says what it would start");
    let program = fs::canonicalize(dist.join("usr/bin/prog")).unwrap();
    assert!(
        program.ends_with("prog-levels/start/bin/prog")
            && fs::metadata(&program).unwrap().mode() & 0o4000 != 0
    );
    // Where all are, no launcher could be asked.
    for source in &request.sources {
        fs::set_permissions(source.tree.join("usr/bin/same"), fs::Permissions::from_mode(0o4755)).unwrap();
    }
    let refused = assemble(&request, &scratch.join("none")).unwrap_err().to_string();
    assert!(refused.contains("--select needs a program whose launcher may say"), "{refused}");
    request.place = Some("usr/lib/a place".into());
    let refused = assemble(&request, &scratch.join("none")).unwrap_err().to_string();
    assert!(refused.starts_with("usr/lib/a place: --select names a unit"), "{refused}");
}

#[test]
fn what_is_installed_is_renamed_into_its_place_and_removed_without_a_trace() {
    let scratch = Scratch::new("selected-install");
    let request = |version: &str| {
        let request = selected(&scratch, version);
        for source in &request.sources {
            fs::write(source.tree.join(format!("usr/share/of-{version}")), version).unwrap();
            fs::hard_link(source.tree.join("usr/bin/prog"), source.tree.join("usr/bin/second")).unwrap();
        }
        request
    };
    for version in ["one", "two"] {
        assemble(&request(version), &scratch.join(format!("dist-{version}"))).unwrap();
    }
    let root = scratch.join("root");
    fs::create_dir_all(root.join("usr/share")).unwrap();
    fs::write(root.join("usr/share/foreign"), "of somebody else").unwrap();
    let before = listing(&root);
    let one = install(&scratch.join("dist-one"), &root, Choice::Once).unwrap();
    assert_eq!((one.removed, one.selected.as_ref().is_some_and(|it| it.ends_with("x86-64-v3"))), (0, true));
    assert_eq!(build_of(&root), "one-x86-64-v3");
    // A program that runs is replaced, too, and what only the former version has goes.
    let two = install(&scratch.join("dist-two"), &root, Choice::AtStart).unwrap();
    assert!(two.removed > 10 && two.selected.is_none(), "{two:?}");
    assert_eq!((chosen(&root), build_of(&root)), ("start".into(), "two-x86-64-v3".to_owned()));
    assert!(root.join("usr/share/of-two").exists() && !root.join("usr/share/of-one").exists());
    let inode =
        |name: &str| fs::metadata(root.join("usr/lib/prog-levels/start/bin").join(name)).unwrap().ino();
    assert_ne!(inode("prog"), inode("second"), "each program has a launcher of its own");
    let at_boot = install(&scratch.join("dist-two"), &root, Choice::AtBoot).unwrap();
    assert!(
        at_boot.selected.is_none() && at_boot.remarks[0].contains("nothing chooses again"),
        "{at_boot:?}"
    );
    remove(&scratch.join("dist-two"), &root).unwrap();
    let names = |lines: Vec<String>| {
        lines.into_iter().map(|it| it.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(listing(&root)), names(before));
    let nothing = remove(&scratch.join("dist-two"), &root).unwrap_err().to_string();
    assert!(nothing.contains("no list of an earlier pack install"), "{nothing}");
}

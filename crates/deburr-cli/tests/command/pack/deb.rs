//! `deburr pack assemble --split` and `examples/pack-deb`: packages of Debian, unpacked alone and together.

use crate::{deburr, stderr};
use deburr_cpu::{Target, host};
use deburr_test_support::Scratch;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LEVELS: [&str; 2] = ["x86-64-v1", "x86-64-v3"];

/// A program, and a library of which it prints the level.
fn tree(scratch: &Scratch, level: &str) {
    tree_that_says(scratch, level, level);
}

/// A program and a library that say `label`, in a tree in `folder`.
fn tree_that_says(scratch: &Scratch, folder: &str, label: &str) {
    let tree = scratch.join(folder).join("usr");
    std::fs::create_dir_all(tree.join("bin")).unwrap();
    std::fs::create_dir_all(tree.join("lib")).unwrap();
    std::fs::write(tree.join("lib/data"), b"data").unwrap();
    let library = scratch.file("library.c", b"const char *name(void) { return LEVEL; }");
    let program = "#include <stdio.h>\nconst char *name(void); int main(void) { return puts(LEVEL) < 0 || puts(name()) < 0; }";
    let program = scratch.file("program.c", program.as_bytes());
    let define = format!("-DLEVEL=\"{label}\"");
    let search = format!("-L{}", tree.join("lib").display());
    let runpath = "-Wl,-rpath,$ORIGIN/../lib";
    let (lib, bin) = (tree.join("lib/libname.so"), tree.join("bin/prog"));
    for (to, from, options) in [
        (lib, library, &["-shared", "-fPIC", "-Wl,-soname,libname.so"][..]),
        (bin, program, &[search.as_str(), "-lname", runpath]),
    ] {
        let mut gcc = Command::new("gcc");
        assert!(gcc.arg(&define).arg("-o").arg(to).arg(from).args(options).status().unwrap().success());
    }
}

/// What the program says, in the root that packages are unpacked into.
fn run(root: &Path, level: Option<&str>) -> Output {
    let mut program = Command::new(root.join("usr/bin/prog"));
    program.envs(level.map(|level| ("DEBURR_LEVEL", level))).output().unwrap()
}

fn unpack(package: &Path, root: &Path) {
    assert!(Command::new("dpkg-deb").arg("-x").args([package, root]).status().unwrap().success());
}

fn files(root: &Path) -> Vec<PathBuf> {
    let output =
        Command::new("find").arg(root).args(["!", "-type", "d", "-printf", "%P\\n"]).output().unwrap();
    let mut files: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(PathBuf::from).collect();
    files.sort();
    files
}

/// Runs the example.
fn build_packages(dist: &Path, version: &str, folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pack-deb/build.sh");
    let mut build = Command::new(script);
    build.arg(dist).args(["prog", version, "Some One <some.one@example.org>"]);
    // dpkg-deb bounds times by it (reproducible-builds.org).
    build.env("SOURCE_DATE_EPOCH", "1000000000");
    std::fs::create_dir_all(folder).unwrap();
    let output = build.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn package_of_a_level_adds_its_variants_to_a_base_that_works_alone() {
    let scratch = Scratch::new("pack-deb");
    LEVELS.iter().for_each(|level| tree(&scratch, level));
    let variants = LEVELS.map(|level| format!("--variant={level}={}", scratch.join(level).display()));
    let (dist, whole) = (scratch.join("dist"), scratch.join("whole"));
    for (to, split) in [(&dist, &["--split"][..]), (&whole, &[])] {
        let to = to.to_str().unwrap();
        let arguments = [&["pack", "assemble", &variants[0], &variants[1], "-o", to], split].concat();
        let output = deburr(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let both = [&files(&dist.join("base"))[..], &files(&dist.join("x86-64-v3"))].concat();
    let mut sorted = [&both[..], &[PathBuf::from("deburr-pack.json")]].concat();
    sorted.sort();
    assert_eq!(sorted, files(&whole), "each file is in one package");
    let tree = super::tree_of(&dist.join("x86-64-v3"), "x86-64-v3");
    let place = tree.strip_prefix(dist.join("x86-64-v3")).unwrap();
    let of_level =
        ["x86-64-v3/bin/prog", "x86-64-v3/lib/data", "x86-64-v3/lib/libname.so", "x86-64-v3_whole"];
    let expected = of_level.map(|path| place.parent().unwrap().join(path));
    assert!(place.starts_with("usr/lib/prog"), "{place:?}");
    assert_eq!(files(&dist.join("x86-64-v3")), expected);

    let folder = scratch.join("debs");
    build_packages(&dist, "1.0-1", &folder);
    let (base, level) = (folder.join("prog_1.0-1_amd64.deb"), folder.join("prog-x86-64-v3_1.0-1_amd64.deb"));
    let fields = |package: &Path| {
        let names = ["Package", "Depends", "Breaks", "Architecture"];
        let output = Command::new("dpkg-deb").arg("-f").arg(package).args(names).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        fields(&level),
        "Package: prog-x86-64-v3\nDepends: prog (= 1.0-1), libc6\nBreaks: prog (<< 1.0-1), prog (>> 1.0-1)\nArchitecture: amd64\n"
    );
    assert_eq!(
        fields(&base),
        "Package: prog\nDepends: libc6\nBreaks: prog-x86-64-v3 (<< 1.0-1), prog-x86-64-v3 (>> 1.0-1)\nArchitecture: amd64\n"
    );

    let root = scratch.join("root");
    unpack(&base, &root);
    let runs_v3 = Target::parse("x86-64-v3").unwrap().features.is_subset(host().unwrap().features);
    let library = if runs_v3 { "x86-64-v3" } else { "x86-64-v1" };
    assert_eq!(run(&root, None).stdout, b"x86-64-v1\nx86-64-v1\n");
    assert!(!run(&root, Some("x86-64-v3")).status.success());
    unpack(&level, &root);
    let said = String::from_utf8(run(&root, None).stdout).unwrap();
    assert_eq!(said, format!("{library}\n{library}\n"));
    assert_eq!(run(&root, Some("x86-64-v1")).stdout, b"x86-64-v1\nx86-64-v1\n");
}

/// Two versions of a program as packages: of each the base and that of the level, in this order.
fn versions(scratch: &Scratch) -> [[PathBuf; 2]; 2] {
    versions_laid_out(scratch, &[])
}

/// The same, laid out with further options.
fn versions_laid_out(scratch: &Scratch, options: &[&str]) -> [[PathBuf; 2]; 2] {
    let folder = scratch.join("debs");
    ["1.0-1", "2.0-1"].map(|version| {
        let variants = LEVELS.map(|level| {
            let tree = format!("{version}/{level}");
            tree_that_says(scratch, &tree, &format!("{version}-{level}"));
            format!("--variant={level}={}", scratch.join(&tree).display())
        });
        let dist = scratch.join(format!("{version}/dist"));
        let to = dist.to_str().unwrap();
        let arguments = ["pack", "assemble", "--split", &variants[0], &variants[1], "-o", to];
        let output = deburr(&[&arguments[..], options].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        build_packages(&dist, version, &folder);
        ["prog", "prog-x86-64-v3"].map(|name| folder.join(format!("{name}_{version}_amd64.deb")))
    })
}

/// A root folder with the database of dpkg.
fn empty_root(root: &Path) {
    for folder in ["info", "updates", "triggers"] {
        std::fs::create_dir_all(root.join("var/lib/dpkg").join(folder)).unwrap();
    }
    std::fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
}

/// dpkg on a root folder of its own, whatever it says of what the packages need of others. It does not wait for the disk.
fn dpkg(root: &Path) -> Command {
    let mut command = Command::new("dpkg");
    command.arg(format!("--root={}", root.display()));
    command.args([
        "--log=/dev/null",
        "--force-depends",
        "--force-not-root",
        "--force-unsafe-io",
        "--auto-deconfigure",
    ]);
    command
}

/// The build that runs: the program and its library are of one.
fn whole(root: &Path) -> String {
    let output = run(root, None);
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{output:?}");
    lines[0].to_owned()
}

fn best_here() -> &'static str {
    let runs_v3 = Target::parse("x86-64-v3").unwrap().features.is_subset(host().unwrap().features);
    if runs_v3 { "x86-64-v3" } else { "x86-64-v1" }
}

#[test]
fn packages_are_upgraded_in_any_order_and_removed_without_a_trace() {
    let scratch = Scratch::new("pack-deb-upgrade");
    let [one, two] = versions(&scratch);
    for order in [[0, 1], [1, 0]] {
        let root = scratch.join(format!("root-{}", order[0]));
        empty_root(&root);
        let done = |command: &mut Command| {
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
        };
        done(dpkg(&root).arg("--install").args(&one));
        assert_eq!(whole(&root), format!("1.0-1-{}", best_here()));
        done(dpkg(&root).arg("--unpack").arg(&two[order[0]]));
        let between = whole(&root);
        assert!(between.ends_with("x86-64-v1"), "{between}");
        done(dpkg(&root).arg("--unpack").arg(&two[order[1]]));
        done(dpkg(&root).args(["--configure", "-a"]));
        assert_eq!(whole(&root), format!("2.0-1-{}", best_here()));
        done(dpkg(&root).args(["--remove", "prog-x86-64-v3"]));
        assert_eq!(whole(&root), "2.0-1-x86-64-v1");
        done(dpkg(&root).args(["--purge", "prog"]));
        let left: Vec<PathBuf> =
            files(&root).into_iter().filter(|file| !file.starts_with("var/lib/dpkg")).collect();
        assert_eq!((left, root.join("usr/lib/prog").exists()), (Vec::<PathBuf>::new(), false));
        let database = format!("--admindir={}", root.join("var/lib/dpkg").display());
        let diverted = Command::new("dpkg-divert").args([&database, "--list"]).output().unwrap();
        assert_eq!((diverted.status.code(), diverted.stdout.len()), (Some(0), 0), "{diverted:?}");
    }
}

#[test]
fn a_machine_that_chooses_at_boot_starts_the_variant_itself_after_each_installation() {
    let scratch = Scratch::new("pack-deb-select");
    let root = scratch.join("root");
    // The scripts choose only where the tree will be looked for at boot.
    let [one, two] = versions_laid_out(&scratch, &["--select", "--prefix", root.to_str().unwrap()]);
    let link = root.join("usr/lib/prog/selected");
    let chosen = || std::fs::read_link(&link).unwrap();
    // dpkg on a machine that runs systemd, as far as the scripts see it.
    let done = |words: &[&str], packages: &[PathBuf]| {
        let machine = "mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args([
            "--user",
            "--map-root-user",
            "--mount",
            "--pid",
            "--fork",
            "--mount-proc",
            "sh",
            "-c",
            machine,
            "sh",
        ]);
        let dpkg = dpkg(&root);
        command.arg(dpkg.get_program()).args(dpkg.get_args()).arg("--force-script-chrootless");
        let output = command.args(words).args(packages).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    };
    for order in [[0, 1], [1, 0]] {
        empty_root(&root);
        // Triggers wait for what a package depends on.
        let libc = "Package: libc6\nStatus: install ok installed\nVersion: 2.36-9\nArchitecture: amd64\nMaintainer: One\nDescription: C\n";
        std::fs::write(root.join("var/lib/dpkg/status"), libc).unwrap();
        std::fs::write(root.join("var/lib/dpkg/info/libc6.list"), "/.\n").unwrap();
        done(&["--install"], &one);
        assert_eq!(whole(&root), format!("1.0-1-{}", best_here()));
        assert!(chosen().ends_with(best_here()), "{:?}", chosen());
        for place in order {
            done(&["--unpack"], &two[place..=place]);
            whole(&root);
        }
        done(&["--configure", "-a"], &[]);
        assert_eq!(whole(&root), format!("2.0-1-{}", best_here()));
        assert!(chosen().ends_with(best_here()), "{:?}", chosen());
        done(&["--remove", "prog-x86-64-v3"], &[]);
        assert_eq!((whole(&root).as_str(), chosen().ends_with("x86-64-v1")), ("2.0-1-x86-64-v1", true));
        done(&["--purge", "prog"], &[]);
        let left: Vec<PathBuf> =
            files(&root).into_iter().filter(|file| !file.starts_with("var/lib/dpkg")).collect();
        assert_eq!((left, root.join("usr/lib/prog").exists()), (Vec::<PathBuf>::new(), false));
        std::fs::remove_dir_all(&root).unwrap();
    }
}

#[test]
fn the_same_trees_make_the_same_packages_byte_for_byte() {
    let scratch = Scratch::new("pack-deb-same");
    let made = ["one", "another"].map(|run| {
        let variants = LEVELS.map(|level| {
            tree(&scratch, level);
            format!("--variant={level}={}", scratch.join(level).display())
        });
        let (dist, folder) = (scratch.join(format!("{run}/dist")), scratch.join(format!("{run}/debs")));
        let to = dist.to_str().unwrap();
        std::fs::create_dir(scratch.join(run)).unwrap();
        let output = deburr(&["pack", "assemble", "--split", &variants[0], &variants[1], "-o", to]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        build_packages(&dist, "1.0-1", &folder);
        ["prog", "prog-x86-64-v3"]
            .map(|name| std::fs::read(folder.join(format!("{name}_1.0-1_amd64.deb"))).unwrap())
    });
    // The trees were compiled anew between the two, so their times differ.
    assert!(made[0] == made[1]);
}

#[test]
fn commands_and_sequence_of_debhelper_compile_and_have_manual_pages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/debhelper");
    let modules = folder.join("lib");
    for name in ["dh_deburr_pack", "dh_deburr_pack_build", "lib/Debian/Debhelper/DeburrPack.pm"] {
        let output = Command::new("perl")
            .arg("-wc")
            .arg(folder.join(name))
            .env("PERL5LIB", &modules)
            .output()
            .unwrap();
        assert!(output.status.success() && stderr(&output).ends_with("syntax OK\n"), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        if name.starts_with("dh_") {
            let output = Command::new("podchecker").arg("-warnings").arg(folder.join(name)).output().unwrap();
            assert!(output.status.success() && stderr(&output).ends_with(" OK.\n"), "{}", stderr(&output));
        }
    }
    // What debhelper reads the sequence for.
    let sequence = "sub insert_before { print \"@_\\n\" } sub remove_command { print \"no @_\\n\" } sub add_command_options { print \"@_\\n\" } require Debian::Debhelper::Sequence::deburr_pack;";
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pack-debhelper");
    let run = |variable: &str| {
        let mut perl = Command::new("perl");
        perl.args(["-we", sequence]).env("PERL5LIB", &modules).env(variable, "x86-64-v1");
        let output = perl.env("DEB_HOST_ARCH", "amd64").current_dir(&project).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let expected = "dh_auto_configure dh_deburr_pack_build\ndh_auto_install dh_deburr_pack\nno dh_update_autotools_config\nno dh_autoreconf\nno dh_auto_configure\nno dh_auto_build\nno dh_auto_test\nno dh_auto_install\ndh_makeshlibs -X/x86-64-v1/ -X/x86-64-v3/\n";
    assert_eq!((run("UNUSED").as_str(), run("DEBURR_PACK_COPY").as_str()), (expected, ""));
}

#[test]
#[ignore = "lintian has 160 packages below it; `cargo xtask nightly` runs it"]
fn lintian_finds_no_error_in_the_packages_of_the_example() {
    let scratch = Scratch::new("pack-deb-lintian");
    for package in &versions(&scratch)[0] {
        // That the library of the test is in /usr/lib, executable and not stripped is its own.
        let mine = "shared-library-is-executable,unstripped-binary-or-object,lacks-ldconfig-trigger";
        let output = Command::new("lintian")
            .args(["--allow-root", "--suppress-tags", mine])
            .arg(package)
            .output()
            .unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        assert!(!said.lines().any(|line| line.starts_with("E: ")), "{said}");
        for tag in ["non-standard-dir-in-usr", "file-in-unusual-dir"] {
            assert!(!said.contains(tag), "{said}");
        }
    }
}

#[test]
#[ignore = "kills dpkg at each of its steps, a minute; `cargo xtask nightly` runs it"]
fn an_upgrade_that_is_killed_at_any_step_leaves_a_whole_old_or_a_whole_new_program() {
    let scratch = Scratch::new("pack-deb-killed");
    let [one, two] = versions(&scratch);
    let installed = scratch.join("installed");
    empty_root(&installed);
    assert!(dpkg(&installed).arg("--install").args(&one).output().unwrap().status.success());
    let mut steps = 0;
    for package in &two {
        for step in 1.. {
            let root = scratch.join("root");
            assert!(Command::new("cp").arg("-a").args([&installed, &root]).status().unwrap().success());
            let traced = "rename,unlink,rmdir,symlink,link";
            let mut command = Command::new("strace");
            command.args(["-o", "/dev/null", "-e", &format!("trace={traced}")]);
            command.args(["-e", &format!("inject={traced}:signal=KILL:when={step}")]);
            let unpack = dpkg(&root);
            command.arg(unpack.get_program()).args(unpack.get_args());
            let output = command.arg("--unpack").arg(package).output().unwrap();
            whole(&root);
            if output.status.success() {
                assert!(step > 20, "dpkg was killed {step} times");
                break;
            }
            steps += 1;
            // What was begun is finished by the next run.
            let again = dpkg(&root).arg("--install").args(&two).output().unwrap();
            assert!(again.status.success(), "step {step}: {}", stderr(&again));
            assert_eq!(whole(&root), format!("2.0-1-{}", best_here()));
            std::fs::remove_dir_all(&root).unwrap();
        }
        std::fs::remove_dir_all(scratch.join("root")).unwrap();
    }
    assert!(steps > 40, "{steps}");
}

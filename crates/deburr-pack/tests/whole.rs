//! Whole trees: each process has the program, the libraries and the plug-ins of one level and of one version, whatever is unpacked.

mod common;

use common::compile;
use deburr_cpu::Target;
use deburr_pack::assemble::{Mechanism, Request, Source, assemble};
use deburr_pack::status::{FileState, status};
use deburr_test_support::Scratch;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LEVELS: [&str; 2] = ["x86-64-v1", "x86-64-v3"];

/// Prints who it is, its library, the plug-in that it finds by its own name, and what is in a file of data.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
const char *name(void);
const char *version(void);
int main(int count, char **names) {
    char path[4096], text[64] = "";
    (void)count;
    snprintf(path, sizeof path, "%.*s/../lib/app/p.so", (int)(strrchr(names[0], '/') - names[0]), names[0]);
    void *plug_in = dlopen(path, RTLD_NOW);
    const char *(*plugged)(void) = plug_in ? (const char *(*)(void))dlsym(plug_in, "plugged") : 0;
    snprintf(path, sizeof path, "%.*s/../share/data", (int)(strrchr(names[0], '/') - names[0]), names[0]);
    FILE *data = fopen(path, "r");
    if (!plugged || !data || !fgets(text, sizeof text, data)) return 3;
    if (access(names[0], X_OK) != 0 || strncmp(WHO, version(), strlen(version())) != 0) return 4;
    printf("%s %s %s %s", WHO, name(), plugged(), text);
    return 0;
}
"#;

/// The trees of a version: a program, its library and its plug-in, which all say which version and level they are; `same`, which
/// is the same at each level and needs the library; and data.
fn trees(scratch: &Scratch, version: &str, root: &str) -> Request {
    let mut request = Request::default();
    for level in LEVELS {
        let tree = scratch.join(format!("{version}/{level}"));
        let at = |path: &str| format!("{root}{path}");
        let who = format!("-DWHO=\"{version}-{level}\"");
        let shared = [who.as_str(), "-shared", "-fPIC"];
        let library = "const char *name(void) { return WHO; }";
        compile(&tree, &at("lib/libx.so.1"), library, &[&shared[..], &["-Wl,-soname,libx.so.1"]].concat());
        symlink("libx.so.1", tree.join(at("lib/libx.so"))).unwrap();
        compile(&tree, &at("lib/app/p.so"), "const char *plugged(void) { return WHO; }", &shared);
        // Of the version, and the same at each level.
        let version_of = format!("const char *version(void) {{ return \"{version}\"; }}");
        compile(
            &tree,
            &at("lib/libversion.so"),
            &version_of,
            &["-shared", "-fPIC", "-Wl,-soname,libversion.so"],
        );
        let search = format!("-L{}", tree.join(at("lib")).display());
        let linked = [search.as_str(), "-lx", "-lversion", "-ldl", "-Wl,-rpath,$ORIGIN/../lib"];
        compile(&tree, &at("bin/prog"), PROGRAM, &[&[who.as_str()][..], &linked].concat());
        let same = "#include <stdio.h>\nconst char *name(void);\nint main(void) { puts(name()); }";
        compile(&tree, &at("bin/same"), same, &linked);
        symlink("prog", tree.join(at("bin/alias"))).unwrap();
        for folder in ["share", "sbin"] {
            fs::create_dir_all(tree.join(at(folder))).unwrap();
        }
        symlink("../bin/alias", tree.join(at("sbin/other"))).unwrap();
        // Out of the trees, to nothing, and around in a circle.
        for (link, target) in [("lib/out", "../../../out"), ("lib/none", "none.so"), ("lib/round", "round")] {
            symlink(target, tree.join(at(link))).unwrap();
        }
        fs::write(tree.join(at("share/data")), "data\n").unwrap();
        let target = Target::parse(level).unwrap();
        let (arch, features) = (target.arch, target.features);
        request.sources.push(Source { level: level.into(), arch, features, tree, check: None });
    }
    request
}

fn run(program: &Path, level: &str) -> Output {
    let mut command = Command::new(program);
    command.env_remove("DEBURR_EXPLAIN").env("DEBURR_LEVEL", level).output().unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// All that is below a folder, by its path: kind, mode, owner, time, and bytes or target.
fn listing(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(below) = waiting.pop() {
        for entry in fs::read_dir(root.join(&below)).unwrap() {
            let path = below.join(entry.unwrap().file_name());
            let data = fs::symlink_metadata(root.join(&path)).unwrap();
            let holds = if data.is_dir() {
                waiting.push(path.clone());
                Vec::new()
            } else if data.is_symlink() {
                fs::read_link(root.join(&path)).unwrap().into_os_string().into_encoded_bytes()
            } else {
                fs::read(root.join(&path)).unwrap()
            };
            let time = if data.is_symlink() { 0 } else { data.mtime() };
            found.push(format!("{} {:o} {} {time} {holds:?}", path.display(), data.mode(), data.uid()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_process_has_the_program_the_library_and_the_plug_in_of_one_level() {
    for root in ["", "usr/"] {
        let scratch = Scratch::new("whole");
        let request = trees(&scratch, "one", root);
        let assembled = assemble(&request, &scratch.join("dist")).unwrap();
        let laid: Vec<(&Path, Mechanism)> =
            assembled.laid.iter().map(|it| (it.path.as_path(), it.mechanism)).collect();
        let at = |path: &str| PathBuf::from(format!("{root}{path}"));
        let (prog, same, library, plug_in) =
            (at("bin/prog"), at("bin/same"), at("lib/libx.so.1"), at("lib/app/p.so"));
        let version = at("lib/libversion.so");
        let expected = [
            (prog.as_path(), Mechanism::Launcher),
            (same.as_path(), Mechanism::Launcher),
            (plug_in.as_path(), Mechanism::Tree),
            (version.as_path(), Mechanism::Tree),
            (library.as_path(), Mechanism::Tree),
        ];
        assert_eq!(laid, expected);
        fs::rename(scratch.join("dist"), scratch.join("moved")).unwrap();
        let moved = scratch.join("moved").join(root);
        for level in LEVELS {
            let who = format!("one-{level}");
            for program in ["bin/prog", "bin/alias", "sbin/other"] {
                assert_eq!(said(&run(&moved.join(program), level)), format!("{who} {who} {who} data\n"));
            }
            assert_eq!(said(&run(&moved.join("bin/same"), level)), format!("{who}\n"));
        }
        // A link that does not lead to what is in a tree is that of the place.
        let place = fs::read_dir(moved.join("lib/prog")).unwrap().map(|it| it.unwrap().path());
        let id = place.into_iter().find(|path| !path.ends_with("start")).unwrap();
        for link in ["out", "none", "round"] {
            let twin = id.join(LEVELS[1]).join("lib").join(link);
            let to = twin.parent().unwrap().join(fs::read_link(&twin).unwrap());
            assert_eq!(fs::read_link(to).unwrap(), fs::read_link(moved.join("lib").join(link)).unwrap());
        }
        // What all levels share is there once.
        let shared: Vec<String> = listing(&scratch.join("moved"))
            .into_iter()
            .filter(|line| line.contains("/data ") && line.contains(" 100"))
            .collect();
        assert_eq!(shared.len(), 1, "{shared:?}");
    }
}

#[test]
fn each_cpu_gets_a_whole_tree_and_what_is_not_whole_is_passed_over() {
    let scratch = Scratch::new("whole-cpus");
    let request = trees(&scratch, "one", "usr/");
    let dist = scratch.join("dist");
    assemble(&request, &dist).unwrap();
    let program = dist.join("usr/bin/prog");
    let on = |cpu: &str| {
        let mut command = Command::new("qemu-x86_64");
        let output = command.args(["-cpu", cpu]).arg(&program).env_remove("DEBURR_LEVEL").output().unwrap();
        said(&output)
            .split_whitespace()
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    };
    for (cpu, level) in [("qemu64", "x86-64-v1"), ("Nehalem", "x86-64-v1"), ("Haswell", "x86-64-v3")] {
        assert_eq!(on(cpu), ["data".to_owned(), format!("one-{level}")], "{cpu}");
    }
    let whole = status(&dist).unwrap();
    assert!(whole.is_whole && whole.found.len() == 10, "{whole:?}");
    // A library of another build is what `status` sees, and a program of another build the launcher.
    let library = whole
        .found
        .iter()
        .find(|it| it.file.level == LEVELS[1] && it.file.path.ends_with("libx.so.1"))
        .unwrap();
    fs::copy(scratch.join("one/x86-64-v1/usr/lib/libx.so.1"), dist.join(&library.file.path)).unwrap();
    let states: Vec<FileState> =
        status(&dist).unwrap().found.iter().map(|it| it.state).filter(|it| *it != FileState::Whole).collect();
    assert_eq!(states, [FileState::Other]);
    let prog =
        whole.found.iter().find(|it| it.file.level == LEVELS[1] && it.file.path.ends_with("prog")).unwrap();
    let best = dist.join(&prog.file.path);
    let kept = fs::read(&best).unwrap();
    fs::copy(scratch.join("one/x86-64-v1/usr/bin/prog"), &best).unwrap();
    let output = run(&program, "");
    assert!(said(&output).starts_with("one-x86-64-v1 "), "{output:?}");
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.ends_with("the variant for x86-64-v3 is of another build\n"), "{complaint}");
    fs::write(&best, kept).unwrap();
    let tree = best.ancestors().nth(2).unwrap().to_owned();
    fs::remove_file(format!("{}_whole", tree.display())).unwrap();
    assert!(said(&run(&program, "")).starts_with("one-x86-64-v1 "));
}

#[test]
fn the_same_trees_give_the_same_bytes() {
    let scratch = Scratch::new("whole-again");
    let request = trees(&scratch, "one", "usr/");
    let listings = ["first", "second"].map(|name| {
        assemble(&request, &scratch.join(name)).unwrap();
        listing(&scratch.join(name))
            .into_iter()
            .filter(|line| !line.starts_with("deburr-pack.json "))
            .collect::<Vec<_>>()
    });
    assert_eq!(listings[0], listings[1]);
}

#[test]
fn owners_modes_links_and_attributes_are_kept() {
    let scratch = Scratch::new("whole-metadata");
    let request = trees(&scratch, "one", "usr/");
    let is_root = rustix::process::geteuid().is_root();
    for source in &request.sources {
        fs::hard_link(source.tree.join("usr/bin/prog"), source.tree.join("usr/bin/second")).unwrap();
        let data = source.tree.join("usr/share/data");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o640)).unwrap();
        rustix::fs::setxattr(&data, "user.origin", b"here", rustix::fs::XattrFlags::empty()).unwrap();
        let prog = source.tree.join("usr/bin/prog");
        if is_root {
            chown(&data, Some(6), Some(60)).unwrap();
            chown(&prog, Some(6), Some(60)).unwrap();
        }
        fs::set_permissions(&prog, fs::Permissions::from_mode(0o6755)).unwrap();
    }
    let refused = assemble(&request, &scratch.join("dist")).unwrap_err().to_string();
    assert!(refused.contains("usr/bin/prog: it is set-user-ID") && refused.contains("--prefix"), "{refused}");
    let request = Request { prefix: Some("/".into()), ..request };
    assemble(&request, &scratch.join("dist")).unwrap();
    let dist = scratch.join("dist/usr");
    let data = fs::metadata(dist.join("share/data")).unwrap();
    let launcher = fs::metadata(dist.join("bin/prog")).unwrap();
    assert_eq!((data.mode() & 0o7777, launcher.mode() & 0o7777), (0o640, 0o6755));
    let mut value = [0; 8];
    assert_eq!(rustix::fs::getxattr(dist.join("share/data"), "user.origin", &mut value[..]), Ok(4));
    if is_root {
        assert_eq!((data.uid(), data.gid(), launcher.uid(), launcher.gid()), (6, 60, 6, 60));
    }
    let record = status(&scratch.join("dist")).unwrap();
    let programs = record
        .found
        .iter()
        .map(|it| &it.file.path)
        .filter(|path| path.ends_with("prog") || path.ends_with("second"));
    let files: Vec<_> = programs.map(|path| fs::metadata(scratch.join("dist").join(path)).unwrap()).collect();
    assert!(
        files.len() == 4 && files.iter().all(|it| it.mode() & 0o6000 == 0),
        "the launcher alone has the rights"
    );
    let inodes: BTreeSet<u64> = files.iter().map(MetadataExt::ino).collect();
    assert_eq!((inodes.len(), files[0].nlink()), (2, 2), "two names of one file for each level");
}

#[test]
fn a_library_that_is_found_by_an_absolute_path_is_refused() {
    let scratch = Scratch::new("whole-absolute");
    let request = trees(&scratch, "one", "usr/");
    for source in &request.sources {
        let search = format!("-L{}", source.tree.join("usr/lib").display());
        let who = format!("-DWHO=\"{}\"", source.level);
        compile(
            &source.tree,
            "usr/bin/prog",
            PROGRAM,
            &[&who, &search, "-lx", "-lversion", "-ldl", "-Wl,-rpath,/usr/lib"],
        );
    }
    let refused = assemble(&request, &scratch.join("dist")).unwrap_err().to_string();
    assert!(refused.starts_with("usr/bin/prog: its RUNPATH /usr/lib leads to usr/lib/lib"), "{refused}");
    let shared = Request { is_shared: true, is_unproven_accepted: true, ..request.clone() };
    assemble(&shared, &scratch.join("dist")).unwrap();
    // What comes first counts, and a folder in which other libraries are does no harm.
    for rpath in ["-Wl,-rpath,$ORIGIN/../lib:/usr/lib", "-Wl,-rpath,/usr/lib/other:$ORIGIN/../lib"] {
        for source in &request.sources {
            let search = format!("-L{}", source.tree.join("usr/lib").display());
            let who = format!("-DWHO=\"one-{}\"", source.level);
            compile(
                &source.tree,
                "usr/bin/prog",
                PROGRAM,
                &[&who, &search, "-lx", "-lversion", "-ldl", rpath],
            );
        }
        let dist = scratch.join(format!("dist-{}", rpath.len()));
        assemble(&request, &dist).unwrap();
        assert!(said(&run(&dist.join("usr/bin/prog"), "")).starts_with("one-x86-64-v3 one-x86-64-v3 "));
    }
}

/// The files and links of a folder, in the order in which packages hold them: sorted, folder by folder.
fn in_order(root: &Path, below: &Path, found: &mut Vec<PathBuf>) {
    let mut names: Vec<_> =
        fs::read_dir(root.join(below)).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    for name in names {
        let path = below.join(name);
        match fs::symlink_metadata(root.join(&path)).unwrap().is_dir() {
            true => in_order(root, &path, found),
            false => found.push(path),
        }
    }
}

/// Unpacks a package over what is installed, as dpkg does: file by file, each renamed into its place, and then the files that only
/// the former version has are removed, the last first. After each step `look` looks at it.
fn unpack(package: &Path, former: Option<&Path>, installed: &Path, look: &mut dyn FnMut()) {
    let (mut new, mut old) = (Vec::new(), Vec::new());
    in_order(package, Path::new(""), &mut new);
    former.iter().for_each(|former| in_order(former, Path::new(""), &mut old));
    for path in &new {
        let (from, to) = (package.join(path), installed.join(path));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let temporary = installed.join("unpacked.new");
        assert!(Command::new("cp").arg("-a").args([&from, &temporary]).status().unwrap().success());
        fs::rename(&temporary, &to).unwrap();
        look();
    }
    for path in old.iter().rev().filter(|path| !new.contains(path)) {
        fs::remove_file(installed.join(path)).unwrap();
        look();
    }
}

#[test]
fn at_each_step_of_an_upgrade_in_any_order_a_whole_old_or_a_whole_new_program_starts() {
    let scratch = Scratch::new("whole-upgrade");
    for version in ["one", "two"] {
        let request = Request {
            is_split: true,
            place: Some("usr/lib/prog-levels".into()),
            ..trees(&scratch, version, "usr/")
        };
        let assembled = assemble(&request, &scratch.join(format!("{version}/dist"))).unwrap();
        assert_eq!(assembled.packages, ["base", "x86-64-v3"]);
    }
    let package = |version: &str, name: &str| scratch.join(format!("{version}/dist/{name}"));
    for order in [["base", "x86-64-v3"], ["x86-64-v3", "base"]] {
        let installed = scratch.join(format!("installed-{}", order[0]));
        fs::create_dir(&installed).unwrap();
        let program = installed.join("usr/bin/prog");
        for name in ["base", "x86-64-v3"] {
            unpack(&package("one", name), None, &installed, &mut || {});
        }
        assert!(said(&run(&program, "")).starts_with("one-x86-64-v3 "));
        let (steps, mut seen) = (Cell::new(0), BTreeSet::new());
        let mut look = || {
            steps.set(steps.get() + 1);
            let words: BTreeSet<String> =
                said(&run(&program, "")).split_whitespace().take(3).map(str::to_owned).collect();
            assert_eq!(words.len(), 1, "one program of several builds: {words:?}");
            seen.extend(words);
        };
        for name in order {
            unpack(&package("two", name), Some(&package("one", name)), &installed, &mut look);
        }
        assert!(steps.get() > 20, "{steps:?}");
        assert!(said(&run(&program, "")).starts_with("two-x86-64-v3 "));
        // The package of the level goes away again.
        let mut files = Vec::new();
        in_order(&package("two", "x86-64-v3"), Path::new(""), &mut files);
        for path in files.iter().rev() {
            fs::remove_file(installed.join(path)).unwrap();
            look();
        }
        assert!(said(&run(&program, "")).starts_with("two-x86-64-v1 "));
        assert!(seen.len() >= 3, "{seen:?}");
    }
}

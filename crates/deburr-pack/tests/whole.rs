//! Whole trees: each process has the program, the libraries and the plug-ins of one level and of one version, whatever is unpacked.

mod common;
#[path = "common/trees.rs"]
mod trees;

use common::compile;
use deburr_cpu::Target;
use deburr_pack::assemble::{Mechanism, Request, Source, assemble};
use deburr_pack::status::{FileState, status};
use deburr_test_support::Scratch;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use trees::{LEVELS, PROGRAM, in_order, listing, run, said, trees, unpack};

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

#[test]
fn a_tree_s_program_finds_the_libraries_of_its_level_instead_of_those_of_an_absolute_folder() {
    let scratch = Scratch::new("whole-runpath");
    let mut request = Request::default();
    let folder = "usr/lib/x86_64-linux-gnu/prog-private";
    let outside = scratch.join("outside");
    let other = "const char *other(void) { return \"other\"; }";
    compile(&outside, "libother.so", other, &["-shared", "-fPIC", "-Wl,-soname,libother.so"]);
    for level in LEVELS {
        let tree = scratch.join(level);
        let who = format!("-DWHO=\"{level}\"");
        let shared = [who.as_str(), "-shared", "-fPIC"];
        // The first needs the second, which it finds by what the program says, or by its own RUNPATH.
        let below = "const char *below(void) { return WHO; }";
        let soname = ["-Wl,-soname,libbelow.so"];
        compile(&tree, &format!("{folder}/libbelow.so"), below, &[&shared[..], &soname].concat());
        let search = format!("-L{}", tree.join(folder).display());
        let name = "const char *below(void); const char *name(void) { return below(); }";
        let soname = [search.as_str(), "-lbelow", "-Wl,-soname,libname.so"];
        compile(&tree, &format!("{folder}/libname.so"), name, &[&shared[..], &soname].concat());
        let program = "#include <stdio.h>\nconst char *name(void), *other(void);\n\
                       int main(void) { printf(\"%s %s %s\\n\", WHO, name(), other()); }";
        let outside = format!("-L{}", outside.display());
        for (name, tag) in [("inherited", "-Wl,--disable-new-dtags"), ("alone", "-Wl,--enable-new-dtags")] {
            let runpath = format!("-Wl,-rpath,/nowhere:/{folder}");
            let mut options =
                vec![who.as_str(), search.as_str(), outside.as_str(), "-lname", "-lother", tag, &runpath];
            // Without a RUNPATH of its own, the first library finds the second only where the program has it already.
            if name == "alone" {
                options.extend(["-Wl,--no-as-needed", "-lbelow"]);
            } else {
                options.push("-Wl,--allow-shlib-undefined");
            }
            compile(&tree, &format!("usr/bin/{name}"), program, &options);
        }
        fs::create_dir_all(tree.join("etc")).unwrap();
        fs::write(tree.join("etc/alone.conf"), "").unwrap();
        let target = Target::parse(level).unwrap();
        let (arch, features) = (target.arch, target.features);
        request.sources.push(Source { level: level.into(), arch, features, tree, check: None });
    }
    let dist = scratch.join("dist");
    let assembled = assemble(&request, &dist).unwrap();
    assert!(dist.join("usr/lib/alone/start/usr/bin/alone").exists() && !dist.join("lib").exists());
    let remarks: Vec<&str> = assembled.remarks.iter().map(|it| it.text.as_str()).collect();
    assert!(
        remarks.iter().any(|it| it.starts_with("its RUNPATH is /nowhere:$ORIGIN/1:$ORIGIN/2 in the trees")),
        "{remarks:?}"
    );
    // Another package has a library in the same folder.
    fs::copy(outside.join("libother.so"), dist.join(folder).join("libother.so")).unwrap();
    for program in ["inherited", "alone"] {
        for level in LEVELS {
            let output = run(&dist.join("usr/bin").join(program), level);
            assert_eq!(said(&output), format!("{level} {level} other\n"), "{program}");
        }
    }
    // Only the text differs, and whoever reads the file finds nothing wrong with it.
    let whole = status(&dist).unwrap();
    assert!(whole.is_whole, "{whole:?}");
    let alone = whole.found.iter().find(|it| it.file.path.ends_with("x86-64-v3/usr/bin/alone")).unwrap();
    let (new, old) = (dist.join(&alone.file.path), scratch.join("x86-64-v3/usr/bin/alone"));
    let differing =
        fs::read(&new).unwrap().iter().zip(&fs::read(&old).unwrap()).filter(|(a, b)| a != b).count();
    assert!(
        fs::metadata(&new).unwrap().len() == fs::metadata(&old).unwrap().len()
            && (1..64).contains(&differing)
    );
    let lint = Command::new("readelf").args(["-dW", "--dyn-syms"]).arg(&new).output().unwrap();
    assert!(lint.status.success() && lint.stderr.is_empty(), "{lint:?}");
    assert!(
        String::from_utf8_lossy(&lint.stdout).contains("Library runpath: [/nowhere:$ORIGIN/1:$ORIGIN/2]")
    );
    // A text of which another name is the end stays, and the program is refused.
    for source in &request.sources {
        let define = format!("-DWHO=\"{}\"", source.level);
        let search = format!("-L{}", source.tree.join(folder).display());
        let outside = format!("-L{}", outside.display());
        let program = "const char *name(void), *other(void);\nint private(void) { return WHO[0]; }\nint main(void) { return name() == other(); }";
        let shared = ["-rdynamic", "-lname", "-lother", "-lbelow", "-Wl,--no-as-needed"];
        let runpath = format!("-Wl,-rpath,/{folder}:private");
        compile(
            &source.tree,
            "usr/bin/alone",
            program,
            &[&[define.as_str(), &search, &outside, &runpath][..], &shared].concat(),
        );
    }
    let refused = assemble(&request, &scratch.join("shared")).unwrap_err().to_string();
    assert!(
        refused.contains("usr/bin/alone: other names of the file share the text of its RUNPATH"),
        "{refused}"
    );
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

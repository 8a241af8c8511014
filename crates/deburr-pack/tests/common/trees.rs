//! Trees of two levels that say which they are, and packages of them.

use crate::common::compile;
use deburr_cpu::Target;
use deburr_pack::assemble::{Request, Source};
use deburr_test_support::Scratch;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const LEVELS: [&str; 2] = ["x86-64-v1", "x86-64-v3"];

/// Prints who it is, its library, the plug-in that it finds by its own name, and what is in a file of data.
pub(crate) const PROGRAM: &str = r#"
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
pub(crate) fn trees(scratch: &Scratch, version: &str, root: &str) -> Request {
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

pub(crate) fn run(program: &Path, level: &str) -> Output {
    let mut command = Command::new(program);
    command.env_remove("DEBURR_EXPLAIN").env("DEBURR_LEVEL", level).output().unwrap()
}

pub(crate) fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// All that is below a folder, by its path: kind, mode, owner, time, and bytes or target.
pub(crate) fn listing(root: &Path) -> Vec<String> {
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

/// The files and links of a folder, in the order in which packages hold them: sorted, folder by folder.
pub(crate) fn in_order(root: &Path, below: &Path, found: &mut Vec<PathBuf>) {
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
pub(crate) fn unpack(package: &Path, former: Option<&Path>, installed: &Path, look: &mut dyn FnMut()) {
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

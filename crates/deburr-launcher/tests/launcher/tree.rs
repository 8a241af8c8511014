//! An installed tree: a launcher and its variants.

use deburr_cpu::{Arch, level_named};
use deburr_launcher::{Build, Model, Table, Variant, launcher};
use deburr_test_support::Scratch;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Prints its level, its name, its file, its arguments and the environment variable `SEEN`.
const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char file[4096];
    long length = readlink("/proc/self/exe", file, sizeof file - 1);
    file[length > 0 ? length : 0] = 0;
    const char *seen = getenv("SEEN");
    printf("%s|%s|%s|%d|%s\n", LEVEL, argc ? argv[0] : "", file, argc, seen ? seen : "");
    return 7;
}
"#;

/// The program of a level, compiled once.
pub(crate) fn program(level: &str) -> Vec<u8> {
    static FOLDER: OnceLock<Scratch> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| Scratch::new("launcher-programs"));
    let path = folder.join(level);
    if !path.exists() {
        let arch = level_named(level).unwrap().arch;
        let compiler = if arch == Arch::X86_64 { "x86_64-linux-gnu-gcc" } else { "aarch64-linux-gnu-gcc" };
        // Tests run side by side: the file appears whole.
        let own = folder.join(format!("{level}.{:?}", std::thread::current().id()));
        let source = own.with_extension("c");
        fs::write(&source, SOURCE).unwrap();
        let define = format!("-DLEVEL=\"{level}\"");
        let status = Command::new(compiler)
            .args(["-O1", "-static", &define, "-o"])
            .args([&own, &source])
            .status()
            .unwrap();
        assert!(status.success(), "{compiler}");
        fs::rename(&own, &path).unwrap();
    }
    fs::read(path).unwrap()
}

/// A tree `bin/prog` with `bin-LEVEL/prog` next to it.
pub(crate) struct Tree {
    pub(crate) folder: Scratch,
}

/// A table of levels.
pub(crate) fn table(levels: &[&str]) -> Table {
    let variants: Vec<Variant> = levels
        .iter()
        .map(|level| Variant {
            level: (*level).to_owned(),
            features: level_named(level).unwrap().features,
            path: format!("../bin-{level}/prog"),
            payload: None,
            build: Build::default(),
            marker: None,
        })
        .collect();
    let arch = level_named(levels[0]).unwrap().arch;
    Table { arch, variants, models: Vec::<Model>::new(), prefix: None, is_own_tree: false }
}

/// Writes a file that can be executed, by another process: what a test beside this one starts would still have a file of this process open
/// for writing, which nobody can execute then.
pub(crate) fn write_program(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let source = path.with_extension("bytes");
    fs::write(&source, bytes).unwrap();
    assert!(Command::new("cp").args([&source, path]).status().unwrap().success());
    fs::remove_file(&source).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Tree {
    pub(crate) fn new(name: &str, levels: &[&str]) -> Tree {
        Tree::with(name, &table(levels))
    }

    pub(crate) fn with(name: &str, table: &Table) -> Tree {
        let tree = Tree { folder: Scratch::new(&format!("launcher-{name}")) };
        // Other users look into it, too.
        fs::set_permissions(tree.folder.join("."), fs::Permissions::from_mode(0o755)).unwrap();
        write_program(&tree.launcher(), &launcher(table).unwrap());
        for variant in &table.variants {
            write_program(&tree.variant(&variant.level), &program(&variant.level));
        }
        tree
    }

    pub(crate) fn launcher(&self) -> PathBuf {
        self.folder.join("bin/prog")
    }

    pub(crate) fn variant(&self, level: &str) -> PathBuf {
        self.folder.join(format!("bin-{level}/prog"))
    }

    /// Runs the launcher on a CPU of qemu-user.
    pub(crate) fn on(&self, emulator: &str, cpu: &str, environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new(emulator);
        command.args(["-cpu", cpu]).arg(self.launcher()).envs(environment.iter().copied());
        command.output().unwrap()
    }

    /// Runs the launcher here.
    pub(crate) fn run(&self, environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new(self.launcher());
        command.env_remove("DEBURR_LEVEL").env_remove("DEBURR_EXPLAIN").envs(environment.iter().copied());
        command.output().unwrap()
    }
}

/// What the variant printed, field by field; its exit status is passed on.
pub(crate) fn fields(output: &Output) -> Vec<String> {
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.trim_end().split('|').map(str::to_owned).collect()
}

/// The lines on the standard error, without qemu's.
pub(crate) fn complaints(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines().filter(|line| !line.starts_with("qemu-")).map(str::to_owned).collect()
}

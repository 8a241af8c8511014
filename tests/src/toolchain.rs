//! The compilers and binary tools that the tests drive, and the folder they work in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Insists that a program can be started.
///
/// # Panics
/// With one line that says which package brings it.
pub fn require(tool: &str) {
    let found = tool.contains('/') && Path::new(tool).exists()
        || std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(tool).is_file()));
    assert!(
        found,
        "{tool} is missing: `scripts/install-tools test` installs all that the tests need ({})",
        package_of(tool)
    );
}

fn package_of(tool: &str) -> &'static str {
    match tool {
        "aarch64-linux-gnu-gcc" => "Debian and Ubuntu: gcc-aarch64-linux-gnu",
        "aarch64-linux-gnu-g++" => "Debian and Ubuntu: g++-aarch64-linux-gnu",
        "aarch64-linux-gnu-objdump"
        | "aarch64-linux-gnu-strip"
        | "aarch64-linux-gnu-as"
        | "aarch64-linux-gnu-nm" => "Debian and Ubuntu: binutils-aarch64-linux-gnu",
        "timeout" => "Debian and Ubuntu: coreutils",
        "clang" => "Debian and Ubuntu: clang",
        "ld.lld" => "Debian and Ubuntu: lld",
        "llvm-objdump" | "llvm-objcopy" | "llvm-mc" => "Debian and Ubuntu: llvm",
        "llvm-config-19" => "Debian and Ubuntu: llvm-19-dev; `scripts/install-tools nightly` installs it",
        "go" => "Debian and Ubuntu: golang-go",
        "qemu-x86_64" | "qemu-aarch64" => "Debian and Ubuntu: qemu-user",
        "python3" => "Debian and Ubuntu: python3-pip",
        "chromium" => "Debian: chromium",
        "npm" | "skopeo" | "umoci" | "fakeroot" | "dpkg-repack" => "Debian and Ubuntu: of the same name",
        "rpmbuild" => "Debian and Ubuntu: rpm",
        "dpkg-buildpackage" => "Debian and Ubuntu: dpkg-dev",
        "lintian" | "autopkgtest" | "buildah" | "git" => {
            "Debian and Ubuntu: of the same name; `scripts/install-tools nightly` installs it"
        }
        "setpriv" => "Debian and Ubuntu: util-linux",
        "cc" | "gcc" | "g++" | "make" => "Debian and Ubuntu: build-essential",
        "apt-get" => "the packages come through apt: a Debian or Ubuntu machine is needed",
        _ => "see CONTRIBUTING.md",
    }
}

/// Runs a command to its end.
///
/// # Panics
/// If it cannot be started or reports failure; its standard error is the message.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr).lines().take(20).collect::<Vec<_>>().join("\n")
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// The build directory.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

/// A folder of that name for one test, empty, under the build directory.
///
/// # Panics
/// If it cannot be made.
pub fn work_dir(name: &str) -> PathBuf {
    let dir = target_dir().join("real").join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    dir
}

/// Writes a source file, compiles it with the given command line and returns the program's path.
///
/// # Panics
/// If the compiler is missing or refuses.
pub fn compile(dir: &Path, name: &str, source: (&str, &str), compiler: &str, flags: &[&str]) -> PathBuf {
    require(compiler);
    let (extension, text) = source;
    let path = dir.join(format!("{name}.{extension}"));
    fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let program = dir.join(name);
    // Libraries among the flags must come after the source that needs them.
    run(Command::new(compiler).arg(&path).args(flags).arg("-o").arg(&program));
    program
}

/// A copy without symbols and debug information, as distributions ship programs.
///
/// # Panics
/// If the tool is missing or fails.
pub fn stripped(strip: &str, file: &Path) -> PathBuf {
    require(strip);
    let copy = file.with_extension("stripped");
    run(Command::new(strip).arg("--strip-all").arg("-o").arg(&copy).arg(file));
    copy
}

/// A copy without section headers: `e_shoff`, `e_shnum` and `e_shstrndx` of the ELF64 header are zero, as a packer leaves them.
///
/// # Panics
/// If the file cannot be copied or is no ELF64 file.
pub fn without_section_headers(file: &Path) -> PathBuf {
    let mut bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(bytes.len() > 64 && bytes.starts_with(b"\x7fELF\x02"), "{}: not ELF64", file.display());
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
    let copy = file.with_extension("sectionless");
    fs::write(&copy, bytes).unwrap_or_else(|error| panic!("{}: {error}", copy.display()));
    copy
}

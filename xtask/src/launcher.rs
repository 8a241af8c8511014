//! Compiles `crates/deburr-launcher/c/launcher.c` for both architectures, and compares with `prebuilt/`.
//!
//! The command and its tests need only the prebuilt code, so that neither needs a C compiler; this task keeps it true to
//! its source. The code is linked at two places: bytes that differ would be addresses, which nothing relocates.

use crate::repository;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The launchers: name, and the options that make it of the one source.
const LAUNCHERS: [(&str, &[&str]); 2] = [("launcher", &[]), ("single", &["-DDEBURR_SINGLE_FILE"])];

/// Name, the prefix of its tools, and the options that only its compiler has.
const PROGRAMS: [(&str, &str, &[&str]); 2] = [
    ("x86_64", "x86_64-linux-gnu-", &["-march=x86-64", "-mno-sse", "-fcf-protection=none"]),
    (
        "aarch64",
        "aarch64-linux-gnu-",
        &["-mgeneral-regs-only", "-mcmodel=tiny", "-mbranch-protection=none", "-mno-outline-atomics"],
    ),
];

const OPTIONS: &[&str] = &[
    "-std=c11",
    "-Os",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-ffreestanding",
    "-fPIE",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-jump-tables",
    "-fno-tree-loop-distribute-patterns",
    "-fvisibility=hidden",
    "-nostdlib",
    "-static",
    "-Wl,--build-id=none",
    "-Wl,-T,launcher.ld",
];

/// Compares, or with `bless` writes, the prebuilt code.
pub fn run(bless: bool) -> Result<(), String> {
    let home = repository().join("crates/deburr-launcher");
    let scratch = repository().join("target/launcher");
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    for (name, prefix, options) in PROGRAMS {
        for (launcher, own) in LAUNCHERS {
            let committed = home.join("prebuilt").join(format!("{launcher}-{name}"));
            let options = [options, own].concat();
            let code = compile(&home, &scratch, prefix, &options, 0x100)?;
            if code != compile(&home, &scratch, prefix, &options, 0x2100)? {
                return Err(format!("{launcher}-{name}: the code depends on where it is linked"));
            }
            keep(&committed, &code, prefix, bless)?;
        }
    }
    Ok(())
}

/// Compares what was compiled with what is committed, or with `bless` writes it.
pub(crate) fn keep(committed: &Path, code: &[u8], prefix: &str, bless: bool) -> Result<(), String> {
    let name = committed.file_name().unwrap_or_default().display();
    let made_by = committed.with_file_name(format!("{name}.compiler"));
    let compiler = version(prefix)?;
    if bless {
        write(committed, code)?;
        write(&made_by, compiler.as_bytes())?;
        println!("{name}: {} bytes", code.len());
        return Ok(());
    }
    let by = fs::read_to_string(&made_by).map_err(|error| format!("{}: {error}", made_by.display()))?;
    if by != compiler {
        println!("{name}: not compared: it was made by {}; here is {}", by.trim(), compiler.trim());
    } else if fs::read(committed).map_err(|error| format!("{}: {error}", committed.display()))? != code {
        return Err(format!(
            "{}: its source gives other code: cargo xtask launcher --bless",
            committed.display()
        ));
    } else {
        println!("{name}: {} bytes, as its source gives", code.len());
    }
    Ok(())
}

/// The bare code, linked at `base`.
fn compile(
    home: &Path,
    scratch: &Path,
    prefix: &str,
    options: &[&str],
    base: u64,
) -> Result<Vec<u8>, String> {
    let (program, code) = (scratch.join("launcher.elf"), scratch.join("launcher.code"));
    let mut compiler = Command::new(format!("{prefix}gcc"));
    compiler.current_dir(home.join("c")).args(OPTIONS).args(options);
    run_tool(
        compiler.arg(format!("-Wl,--defsym=deburr_base={base:#x}")).arg("launcher.c").arg("-o").arg(&program),
    )?;
    let mut copier = Command::new(format!("{prefix}objcopy"));
    run_tool(copier.args(["-O", "binary", "-j", ".code"]).arg(&program).arg(&code))?;
    fs::read(&code).map_err(|error| format!("{}: {error}", code.display()))
}

/// The compiler's name and version: others give other code.
fn version(prefix: &str) -> Result<String, String> {
    let output = Command::new(format!("{prefix}gcc"))
        .arg("--version")
        .output()
        .map_err(|error| format!("{prefix}gcc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().next().unwrap_or_default().to_owned() + "\n")
}

pub(crate) fn run_tool(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{:?}: {}", command.get_program(), String::from_utf8_lossy(&output.stderr)))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

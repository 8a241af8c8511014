//! AArch64 programs on another machine: the kernel starts them like its own, so that one of them can `execve` another.
//!
//! qemu-user runs one program; what that executes goes to the kernel, which refuses a foreign file. In a user namespace
//! of its own a process may mount `binfmt_misc` (Linux 6.7) and name qemu-user as the interpreter of such files, without
//! root and without a trace on the machine. Flags: `O` hands the file over open, `P` keeps `argv[0]`, `F` opens the
//! interpreter at once, `C` takes the rights of the file.

use crate::Scratch;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// `$1`: an empty folder, `$2`: qemu-aarch64; the rest is executed. ELF, 64 bits, little-endian, EM_AARCH64, ET_EXEC or ET_DYN.
const SCRIPT: &str = r#"set -e
mount -t binfmt_misc binfmt_misc "$1"
printf '%s' ":deburr-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$2:OCPF" >"$1/register"
shift 2
exec "$@"
"#;

/// A command that runs what follows in such a namespace, on a CPU of qemu-user's; also where the folder of `/` changes, if
/// `interpreter` is linked statically.
///
/// # Errors
/// Why this kernel or this user cannot do so.
pub fn emulating(cpu: &str, interpreter: Option<PathBuf>) -> Result<Command, String> {
    static FOLDER: OnceLock<Result<Scratch, String>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = Scratch::new("binfmt");
        let tried = command(&folder, &qemu()?).arg("true").output();
        let tried = tried.map_err(|error| format!("unshare: {error}"))?;
        match tried.status.success() {
            true => Ok(folder),
            false => Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned()),
        }
    });
    let folder = folder.as_ref().map_err(Clone::clone)?;
    let interpreter = interpreter.map_or_else(qemu, Ok)?;
    let mut command = command(folder, &interpreter);
    command.env("QEMU_CPU", cpu);
    Ok(command)
}

fn command(folder: &Scratch, interpreter: &std::path::Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"]);
    command.arg(folder.path()).arg(interpreter);
    command
}

/// The emulator's path.
fn qemu() -> Result<PathBuf, String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&folders).map(|folder| folder.join("qemu-aarch64")).find(|path| path.exists());
    found.ok_or_else(|| "no qemu-aarch64 in PATH".to_owned())
}

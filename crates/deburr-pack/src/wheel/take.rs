//! Build stage: the wheels that a command made → the tree of its variant.
//!
//! In: where the command put wheels. Out: the files of the one wheel in the tree, as an installer would put them into
//! `site-packages`, and the wheel in a folder of its own; or why it is not taken.

use super::usable::unusable;
use deburr_cpu::Arch;
use deburr_package::Limits;
use deburr_package::wheel::Wheel;
use deburr_text::ShownPath as _;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The folder of a variant that holds its wheel; `{out}` in the build command stands for it.
pub const FOLDER: &str = "wheel";

/// The wheel of a variant that is built.
///
/// # Errors
/// Its folder cannot be read, or does not hold one wheel.
pub fn built(pack: &Path, level: &str) -> Result<PathBuf, (PathBuf, io::Error)> {
    let folder = pack.join(level).join(FOLDER);
    let fault = |error| (folder.clone(), error);
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(fault)? {
        found.push(entry.map_err(fault)?.path());
    }
    found.retain(|path| path.extension().is_some_and(|end| end == "whl"));
    match (found.pop(), found.is_empty()) {
        (Some(path), true) => Ok(path),
        _ => Err(fault(io::Error::other("expected one wheel; --fresh builds it again"))),
    }
}

/// The build command with the folder in the places of `{out}`.
pub(crate) fn filled(command: &[OsString], folder: &Path) -> Vec<OsString> {
    const PLACE: &[u8] = b"{out}";
    let fill = |argument: &OsString| {
        let (mut filled, mut rest) = (Vec::new(), argument.as_bytes());
        while let Some(at) = rest.windows(PLACE.len()).position(|part| part == PLACE) {
            filled.extend_from_slice(&rest[..at]);
            filled.extend_from_slice(folder.as_os_str().as_bytes());
            rest = &rest[at + PLACE.len()..];
        }
        filled.extend_from_slice(rest);
        OsString::from_vec(filled)
    };
    command.iter().map(fill).collect()
}

/// Takes the one wheel of `made`, or says why none is taken. `folder`: what is to hold the wheel alone.
pub(crate) fn take(
    made: &[PathBuf],
    folder: &Path,
    tree: &Path,
    arch: Arch,
) -> Result<Option<String>, (PathBuf, io::Error)> {
    let [path] = made else { return Ok(Some(not_one(made))) };
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |error| (path, error)
    };
    let bytes = fs::read(path).map_err(fault(path))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let wheel = match Wheel::parse(&name, &bytes, &Limits::default()) {
        Ok(wheel) => wheel,
        Err(error) => return Ok(Some(format!("{}: {error}", path.shown()))),
    };
    match unusable(&wheel, arch) {
        Ok(None) => {}
        Ok(reason) => return Ok(reason),
        Err(error) => return Ok(Some(format!("{}: {error}", path.shown()))),
    }
    for (inner, file) in wheel.files() {
        let to = tree.join(inner);
        let content = match wheel.read(inner) {
            Ok(content) => content,
            Err(error) => return Ok(Some(format!("{}: {error}", path.shown()))),
        };
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(fault(parent))?;
        }
        fs::write(&to, content).map_err(fault(&to))?;
        if file.is_executable {
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).map_err(fault(&to))?;
        }
    }
    let kept = folder.join(&name);
    if *path != kept {
        fs::create_dir_all(folder).map_err(fault(folder))?;
        fs::copy(path, &kept).map_err(fault(&kept))?;
    }
    Ok(None)
}

/// Why none of several wheels is taken, or none of none.
fn not_one(made: &[PathBuf]) -> String {
    if made.is_empty() {
        return String::from(
            "the command succeeded, and made no wheel; expected one in the folder that {out} names, as in \
             pip wheel --no-deps -w {out} .",
        );
    }
    let names = made.iter().map(|path| Path::new(path.file_name().unwrap_or_default()).shown().to_string());
    let names = names.collect::<Vec<_>>().join(", ");
    format!(
        "the command made {} wheels: {names}; expected one: build without dependencies (pip wheel --no-deps), and for \
         one Python at a time",
        made.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_wherever_the_command_names_it() {
        let command = ["pip", "wheel", "-w", "{out}", "cp {out}/a {out}", "{outer}"].map(OsString::from);
        let expected = ["pip", "wheel", "-w", "/p/wheel", "cp /p/wheel/a /p/wheel", "{outer}"];
        assert_eq!(filled(&command, Path::new("/p/wheel")), expected.map(OsString::from));
    }

    #[test]
    fn none_and_several_wheels_are_refused_with_what_to_do() {
        assert!(not_one(&[]).contains("made no wheel"));
        let several =
            not_one(&[PathBuf::from("/a/x-1-py3-none-any.whl"), PathBuf::from("/a/y-1-py3-none-any.whl")]);
        assert!(several.contains("2 wheels: x-1-py3-none-any.whl, y-1-py3-none-any.whl;"), "{several}");
    }
}

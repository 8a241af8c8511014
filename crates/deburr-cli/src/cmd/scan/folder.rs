//! A folder as an archive: packages, container images and binaries below it, by their paths from there.

use super::cache::Fault;
use crate::input::content::Content;
use crate::input::walk::{InputFile, walk};
use crate::product::scan_item::{Item, Place};
use crate::sha256::sha256;
use crate::system_error::error_text;
use deburr_text::ShownPath as _;
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What is in it, and what cannot be checked, with the reason.
///
/// # Errors
/// Where it is not there, for people.
pub(super) fn list(folder: &Path, threads: usize) -> Result<(Vec<Item>, Vec<Fault>), String> {
    fs::metadata(folder).map_err(|error| format!("{}: {}", folder.shown(), error_text(&error)))?;
    let walked = walk(&[folder.to_owned()], threads, &[], true);
    let items = walked.files.into_iter().map(|file| item(folder, file)).collect();
    let faults = walked.skipped.into_iter().filter(|skip| skip.fault);
    let faults = faults.map(|skip| (below(folder, Path::new(&skip.path)), skip.reason));
    Ok((items, faults.collect()))
}

fn item(folder: &Path, file: InputFile) -> Item {
    let path = below(folder, &file.path);
    // Whatever is in an image is named by hashes, and these by its index.
    let index = (file.content == Content::Layout).then(|| fs::read(file.place.join("index.json")).ok());
    let sha256 = index.flatten().map(|index| sha256([index.as_slice()]));
    Item {
        path,
        place: Place::Here(file.place),
        size: file.size,
        content: file.content,
        sha256,
        is_stated: false,
    }
}

/// The path from a folder; of the folder itself, and of a file that was given instead, the last name.
fn below(folder: &Path, path: &Path) -> String {
    let rest = path.strip_prefix(folder).ok().filter(|rest| !rest.as_os_str().is_empty());
    let canonical = || folder.canonicalize().ok()?.file_name().map(Path::new).map(Path::to_owned);
    match rest {
        Some(rest) => text_of(rest),
        None => canonical().map_or_else(|| text_of(path), |name| text_of(&name)),
    }
}

/// As text; bytes that are no UTF-8 are spelt out.
fn text_of(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;
    use std::ffi::OsStr;

    #[test]
    fn paths_begin_below_the_folder_and_are_text() {
        let scratch = Scratch::new("scan-folder");
        let folder = scratch.path();
        let elf = fs::read("/proc/self/exe").unwrap();
        fs::create_dir(folder.join("in")).unwrap();
        fs::write(folder.join("in/tool"), &elf).unwrap();
        fs::write(folder.join(OsStr::from_bytes(b"t\xff\xfeol")), &elf).unwrap();
        fs::write(folder.join("words.txt"), "words").unwrap();
        let (items, faults) = list(folder, 2).unwrap();
        let paths: Vec<&str> = items.iter().map(|item| item.path.as_str()).collect();
        assert_eq!(paths, ["in/tool", "t\\xff\\xfeol"]);
        assert!(faults.is_empty());
        assert_eq!(items.iter().map(|item| item.size).collect::<Vec<_>>(), [elf.len() as u64; 2]);
        let (items, _) = list(&folder.join("in/tool"), 1).unwrap();
        assert_eq!(items.first().map(|item| item.path.as_str()), Some("tool"));
        assert!(
            list(&folder.join("missing"), 1).unwrap_err().ends_with("missing: no such file or directory")
        );
    }
}

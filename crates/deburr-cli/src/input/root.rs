//! A folder that is taken for `/`: whether a path of the system that it holds leads to a file.
//!
//! Symbolic links are followed as that system would: an absolute one begins at the folder.

use deburr_core::image::interpreter;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Symbolic links of one path that are followed (Linux, `MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The interpreter that a program names, if the system in a folder does not have it. The folder of an unpacked package has no
/// system in it, and says nothing.
pub(crate) fn missing_interpreter<'b>(bytes: &'b [u8], root: &Path) -> Option<&'b str> {
    interpreter(bytes).filter(|path| !holds(root, Path::new(path)) && is_system(root))
}

/// Whether a folder holds a system: it says which, or has a loader.
fn is_system(root: &Path) -> bool {
    let is_loader = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with("ld-"));
    let names = |folder: &str| {
        let folder = within(root, Path::new(folder));
        let entries = folder.and_then(|folder| folder.read_dir().ok()).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).any(|name| is_loader(&name))
    };
    ["etc/os-release", "usr/lib/os-release"].iter().any(|file| root.join(file).symlink_metadata().is_ok())
        || ["lib", "lib64", "usr/lib", "usr/lib64"].into_iter().any(names)
}

/// Whether a path of the system leads to a file.
fn holds(root: &Path, path: &Path) -> bool {
    within(root, path).is_some_and(|path| path.is_file())
}

/// Where a path of the system leads to, as one without links; `None` for a ring of links.
fn within(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut pending: VecDeque<OsString> = parts(path);
    let (mut inside, mut links) = (PathBuf::new(), 0);
    while let Some(part) = pending.pop_front() {
        if part == ".." {
            inside.pop();
            continue;
        }
        let Ok(target) = root.join(&inside).join(&part).read_link() else {
            inside.push(part);
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return None;
        }
        if target.is_absolute() {
            inside.clear();
        }
        for part in parts(&target).into_iter().rev() {
            pending.push_front(part);
        }
    }
    Some(root.join(inside))
}

/// The names in a path, and `..`.
fn parts(path: &Path) -> VecDeque<OsString> {
    let is_part = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(is_part).map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_within_the_folder() {
        let root = std::env::temp_dir().join(format!("deburr-root-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("usr/lib64")).unwrap();
        fs::write(root.join("usr/lib64/ld.so.1"), "x").unwrap();
        symlink("/usr/lib64", root.join("lib64")).unwrap();
        symlink("usr/lib64", root.join("lib")).unwrap();
        symlink("../../usr/lib64/./ld.so.1", root.join("usr/lib64/ld.so.2")).unwrap();
        symlink("/../../usr/lib64/ld.so.2", root.join("usr/lib64/ld.so.3")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let has = |path: &str| holds(&root, Path::new(path));
        let there = ["/lib64/ld.so.1", "/lib/ld.so.2", "/lib64/ld.so.3", "/usr/lib64/ld.so.1"];
        assert!(there.into_iter().all(has));
        // What is not there, a folder, a loop, and what only the machine itself has.
        let not_there = ["/lib64/ld.so.4", "/lib64", "/loop/ld.so.1", "/proc/self/exe"];
        assert!(!not_there.into_iter().any(has));
        assert!(!is_system(&root));
        fs::write(root.join("usr/lib64/ld-linux-x86-64.so.2"), "x").unwrap();
        assert!(is_system(&root));
        fs::remove_dir_all(&root).unwrap();
    }
}

//! Packages that a program names one by one → items, as those of an archive.
//!
//! In: files of this machine, each with the path that the tables have of it, and what the program could not get. Out: items, and
//! what is none. Other than in a folder, where a README is no package, what is listed and is none is a failure.

use super::cache::Fault;
use crate::input::walk::walk;
use crate::product::scan_item::{Item, Place};
use crate::sha256::sha256;
use std::collections::HashSet;
use std::path::PathBuf;

/// A package, an image or a binary that a program names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenPackage {
    /// The path that the tables have.
    pub path: String,
    /// Where it is on this machine.
    pub place: PathBuf,
    /// SHA-256 of its bytes, as an index states it: other bytes are a failure.
    pub sha256: Option<String>,
}

/// What is scanned instead of an archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// What is here.
    pub packages: Vec<GivenPackage>,
    /// What the program could not get: path and reason.
    pub missing: Vec<(String, String)>,
}

impl Given {
    /// The items, and what cannot be checked, with the reason.
    ///
    /// # Errors
    /// Where a path is there twice, or a hash is none, for people.
    pub(super) fn list(&self) -> Result<(Vec<Item>, Vec<Fault>), String> {
        let mut taken = HashSet::new();
        for path in self.paths() {
            if path.is_empty() || path.contains('\0') {
                return Err(format!("{path:?}: no path for the tables"));
            }
            if !taken.insert(path) {
                return Err(format!("{path}: a package of that path is given twice"));
            }
        }
        let (mut items, mut faults) = (Vec::new(), self.missing.clone());
        for package in &self.packages {
            match item(package)? {
                Ok(item) => items.push(item),
                Err(reason) => faults.push((package.path.clone(), reason)),
            }
        }
        Ok((items, faults))
    }

    /// What distinguishes it from other lists and from archives, which no path of a folder is.
    pub(super) fn identity(&self) -> String {
        let mut paths: Vec<&str> = self.paths().collect();
        paths.sort_unstable();
        format!("\0{}", sha256(paths.into_iter().flat_map(|path| [path.as_bytes(), b"\0"])))
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        let missing = self.missing.iter().map(|(path, _)| path);
        self.packages.iter().map(|package| &package.path).chain(missing).map(String::as_str)
    }
}

/// The item, or why it is none.
fn item(package: &GivenPackage) -> Result<Result<Item, String>, String> {
    let is_hash = |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let sha256 = package.sha256.as_ref().map(|hash| hash.to_ascii_lowercase());
    if let Some(hash) = sha256.as_ref().filter(|hash| !is_hash(hash)) {
        return Err(format!("{}: {hash:?} is no SHA-256", package.path));
    }
    let mut walked = walk(std::slice::from_ref(&package.place), 1, &[], true);
    let found = walked.files.pop();
    let is_all = walked.files.is_empty() && found.as_ref().is_none_or(|file| file.place == package.place);
    Ok(match found {
        Some(file) if is_all => Ok(Item {
            path: package.path.clone(),
            place: Place::Here(file.place),
            size: file.size,
            content: file.content,
            is_stated: sha256.is_some(),
            sha256,
        }),
        None if !walked.skipped.is_empty() => Err(walked.skipped.swap_remove(0).reason),
        _ => Err("a folder that is no container image".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::content::Content;
    use deburr_test_support::Scratch;
    use std::fs;

    fn given(packages: &[(&str, &std::path::Path)]) -> Given {
        let packages = packages.iter().map(|(path, place)| GivenPackage {
            path: (*path).to_owned(),
            place: place.to_path_buf(),
            sha256: None,
        });
        Given { packages: packages.collect(), missing: Vec::new() }
    }

    #[test]
    fn what_is_listed_and_is_no_package_is_a_failure() {
        let scratch = Scratch::new("scan-given");
        let (elf, words, empty) = (scratch.join("elf"), scratch.join("words"), scratch.join("empty"));
        fs::copy("/proc/self/exe", &elf).unwrap();
        fs::write(&words, "words").unwrap();
        fs::write(&empty, "").unwrap();
        let folder = scratch.join("folder");
        fs::create_dir(&folder).unwrap();
        fs::copy("/proc/self/exe", folder.join("elf")).unwrap();
        let (none, bare) = (scratch.join("none"), scratch.join("bare"));
        fs::create_dir(&bare).unwrap();
        let mut list = given(&[
            ("b", &elf),
            ("a", &elf),
            ("words", &words),
            ("empty", &empty),
            ("folder", &folder),
            ("none", &none),
            ("bare", &bare),
        ]);
        list.missing.push(("gone".to_owned(), "access denied".to_owned()));
        let (items, faults) = list.list().unwrap();
        let found: Vec<_> = items.iter().map(|item| (item.path.as_str(), item.content)).collect();
        assert_eq!(found, [("b", Content::Elf), ("a", Content::Elf)], "one file under two paths");
        let faults: Vec<_> = faults.iter().map(|(path, reason)| (path.as_str(), reason.as_str())).collect();
        assert_eq!(
            faults,
            [
                ("gone", "access denied"),
                ("words", "no ELF file"),
                ("empty", "an empty file"),
                ("folder", "a folder that is no container image"),
                ("none", "no such file or directory"),
                ("bare", "a folder that is no container image"),
            ]
        );
    }

    #[test]
    fn a_path_is_given_once_and_a_hash_is_one() {
        let here = std::path::Path::new("/proc/self/exe");
        let mut list = given(&[("a", here)]);
        list.missing.push(("a".to_owned(), String::new()));
        assert_eq!(list.list().unwrap_err(), "a: a package of that path is given twice");
        for wrong in ["", "a\0b"] {
            assert!(given(&[(wrong, here)]).list().unwrap_err().contains("no path"), "{wrong:?}");
        }
        let mut list = given(&[("a", here)]);
        for (hash, is_right) in [("ab", false), (&"g".repeat(64), false), (&"A0".repeat(32), true)] {
            list.packages[0].sha256 = Some(hash.to_owned());
            assert_eq!(list.list().is_ok(), is_right, "{hash}");
        }
        assert_eq!(list.list().unwrap().0[0].sha256.as_deref(), Some("a0".repeat(32).as_str()));
    }

    #[test]
    fn a_list_is_known_by_its_paths_in_any_order() {
        let here = std::path::Path::new("/proc/self/exe");
        let other = std::path::Path::new("/dev/null");
        let list = given(&[("a", here), ("b", here)]);
        assert_eq!(list.identity(), given(&[("b", other), ("a", here)]).identity());
        for names in [vec!["a"], vec!["ab"], vec!["a", "c"], vec!["a", "b", "c"]] {
            let names: Vec<_> = names.into_iter().map(|name| (name, here)).collect();
            assert_ne!(list.identity(), given(&names).identity());
        }
    }
}

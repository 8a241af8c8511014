//! A file on disk: its surroundings, its extended attributes (xattr(7)) and fs-verity (statx(2)).
//!
//! Reads folders and lists only; each folder once a run.

use super::attestation::Attestation;
use super::content;
use super::list::{MAX_LIST_BYTES, is_list};
use super::place::{ChecksumList, Place, around};
use crate::cmd::fix::file::source::Source;
use crate::identity::{Identity, identity};
use crate::output::attributes::{MEASURED, attributes, has};
use deburr_text::shown;
use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, statx};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Parts of names of `user.` attributes that hold a hash or a signature: shatag's `user.shatag.sha256`, `user.checksum.md5`.
const DIGESTS: [&str; 9] =
    ["sha1", "sha2", "sha3", "sha512", "md5", "blake", "checksum", "digest", "signature"];

/// The links of a folder, by the file that they lead to.
type Links = Rc<HashMap<Identity, Vec<PathBuf>>>;

/// The file system, as far as it was read.
#[derive(Default)]
pub(crate) struct Disk {
    names: RefCell<HashMap<PathBuf, Rc<Vec<OsString>>>>,
    links: RefCell<HashMap<PathBuf, Links>>,
    lists: RefCell<HashMap<PathBuf, Vec<ChecksumList>>>,
}

impl Disk {
    /// All that vouches for a file.
    pub(crate) fn attestations(&self, path: &Path, source: &Source) -> Vec<Attestation> {
        let mut found = content::attestations(&source.bytes);
        let mut names: Vec<String> =
            MEASURED.into_iter().filter(|name| has(&source.file, name)).map(str::to_owned).collect();
        let listed = attributes(&source.file).into_iter().filter(|name| is_digest(name));
        names.extend(listed.map(|name| shown(name.as_bytes()).into_owned()));
        found.extend(names.iter().map(|name| Attestation::attribute(name)));
        if has_verity(&source.file) {
            found.push(Attestation::new("fs-verity"));
        }
        found.extend(self.around(path, &source.bytes));
        found
    }

    /// What vouches for a file in its surroundings.
    pub(crate) fn around(&self, path: &Path, bytes: &[u8]) -> Vec<Attestation> {
        fs::canonicalize(path).map_or_else(
            |_| Vec::new(),
            |real| {
                // A link that was named is a name of its own, wherever it is.
                let named = path
                    .parent()
                    .map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
                let named =
                    named.and_then(|folder| Some(fs::canonicalize(folder).ok()?.join(path.file_name()?)));
                let mut found = around(self, &real, bytes);
                for more in named
                    .filter(|named| *named != real)
                    .map(|named| around(self, &named, bytes))
                    .unwrap_or_default()
                {
                    if !found.contains(&more) {
                        found.push(more);
                    }
                }
                found
            },
        )
    }

    /// The links in a folder, symbolic and hard, by the file that they lead to.
    fn links(&self, folder: &Path) -> Links {
        let mut known = self.links.borrow_mut();
        let read = || {
            let mut links: HashMap<Identity, Vec<PathBuf>> = HashMap::new();
            for path in self.listed(folder).iter().map(|name| folder.join(name)) {
                let own = fs::symlink_metadata(&path);
                let is_link = own.is_ok_and(|own| own.is_symlink() || own.is_file() && own.nlink() > 1);
                if let Some(to) = fs::metadata(&path).ok().filter(|_| is_link) {
                    links.entry(identity(&to)).or_default().push(path);
                }
            }
            Rc::new(links)
        };
        Rc::clone(known.entry(folder.to_owned()).or_insert_with(read))
    }

    fn listed(&self, folder: &Path) -> Rc<Vec<OsString>> {
        let mut known = self.names.borrow_mut();
        let read = || {
            let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
            Rc::new(entries.map(|entry| entry.file_name()).collect())
        };
        Rc::clone(known.entry(folder.to_owned()).or_insert_with(read))
    }
}

impl Place for Disk {
    fn names(&self, path: &Path) -> Vec<PathBuf> {
        let mut names = vec![path.to_owned()];
        if let (Some(folder), Ok(own)) = (path.parent(), fs::metadata(path)) {
            names.extend(self.links(folder).get(&identity(&own)).into_iter().flatten().cloned());
        }
        names
    }

    fn has(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_dir())
    }

    fn lists(&self, folder: &Path) -> Vec<ChecksumList> {
        let mut known = self.lists.borrow_mut();
        let read = || {
            let names = self.listed(folder);
            let named = names.iter().filter(|name| is_list(&name.to_string_lossy()));
            named.filter_map(|name| read_list(folder.join(name))).collect()
        };
        known.entry(folder.to_owned()).or_insert_with(read).clone()
    }
}

/// A list, unless it is too long or no regular file.
fn read_list(path: PathBuf) -> Option<ChecksumList> {
    let metadata = fs::metadata(&path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_LIST_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(&path).ok()?.take(MAX_LIST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(ChecksumList { path, bytes: Rc::new(bytes) })
}

/// Whether an attribute of a user holds a hash or a signature of a file's bytes, by its name.
fn is_digest(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    name.strip_prefix("user.").is_some_and(|rest| DIGESTS.iter().any(|part| rest.contains(part)))
}

/// Whether the kernel checks each page that is read of a file.
fn has_verity(file: &File) -> bool {
    let found = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::empty());
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::VERITY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;
    use std::os::unix::fs::symlink;

    /// What vouches for a file of a folder.
    fn found(folder: &Scratch, name: &str) -> Vec<String> {
        let path = folder.join(name);
        let bytes = fs::read(&path).unwrap();
        Disk::default().around(&path, &bytes).into_iter().map(|found| found.by).collect()
    }

    #[test]
    fn files_beside_all_names_of_a_file_vouch_for_it() {
        let folder = Scratch::new("attested-beside");
        for name in [
            "lib/liba.so.1.2",
            "lib/b.so",
            "lib/README.sig",
            "lib/foo.hmac",
            "sbin/sshd",
            "lib64/fipscheck/sshd.hmac",
        ] {
            folder.file(name, name.as_bytes());
        }
        assert_eq!(found(&folder, "lib/liba.so.1.2"), [""; 0]);
        symlink("liba.so.1.2", folder.join("lib/liba.so.1")).unwrap();
        folder.file("lib/.liba.so.1.hmac", b"00");
        assert_eq!(found(&folder, "lib/liba.so.1.2"), [".liba.so.1.hmac"]);
        assert_eq!(found(&folder, "lib/liba.so.1"), [".liba.so.1.hmac"]);
        fs::hard_link(folder.join("lib/b.so"), folder.join("lib/c.so")).unwrap();
        folder.file("lib/c.chk", b"00");
        assert_eq!(found(&folder, "lib/b.so"), ["c.chk"]);
        let [hash] = found(&folder, "sbin/sshd").try_into().unwrap();
        assert!(hash.ends_with("lib64/fipscheck/sshd.hmac"), "{hash}");
    }

    #[test]
    fn a_named_link_in_another_folder_is_a_name_too() {
        let folder = Scratch::new("attested-link");
        folder.file("opt/tool", b"tool");
        folder.file("bin/tool.sig", b"00");
        symlink("../opt/tool", folder.join("bin/tool")).unwrap();
        assert_eq!(
            (found(&folder, "opt/tool"), found(&folder, "bin/tool")),
            (vec![], vec!["tool.sig".to_owned()])
        );
    }

    #[test]
    fn lists_here_and_above_vouch_for_what_they_have_the_hash_of() {
        let folder = Scratch::new("attested-list");
        folder.file("a/tool", b"tool");
        folder.file("a/other", b"changed since");
        let hash = crate::sha256::sha256([&b"tool"[..]]);
        folder.file("SHA256SUMS", format!("{hash}  a/tool\n{hash}  a/other\n{hash}  tool\n").as_bytes());
        let [list] = found(&folder, "a/tool").try_into().unwrap();
        assert!(list.ends_with("SHA256SUMS"), "{list}");
        assert_eq!(found(&folder, "a/other"), [""; 0]);
    }

    #[test]
    fn attributes_that_hold_a_hash_are_known_by_name() {
        let is = |name: &str| is_digest(OsStr::new(name));
        assert!(is("user.shatag.sha256") && is("user.checksum.md5"));
        assert!(
            !is("security.selinux")
                && !is("security.capability")
                && !is("user.origin")
                && !is("user.mime_type")
        );
    }
}

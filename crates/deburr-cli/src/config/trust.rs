//! Whether a configuration that was found, rather than named, may be read: only where nobody else can have written it.
//!
//! As git does with repositories since CVE-2022-24765: a file in `/tmp`, or in a folder that somebody else unpacked, could
//! otherwise decide what a run of root's keeps silent about. Leaving it out without a word would drop what it tightens, so that
//! the run ends.

use rustix::process::geteuid;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Permission for everybody to write (`S_IWOTH`).
const WRITABLE_BY_ALL: u32 = 0o002;

/// Why a file that was opened by a path must not be read without having been named, if there is a reason. It is judged as it was
/// opened: at the path there may be another one by now.
///
/// # Errors
/// Where nothing can be learnt of a file that is there.
pub(super) fn distrust(path: &Path, opened: &File) -> io::Result<Option<String>> {
    let trusted = trusted_owners();
    // A link is trusted no more than whoever made it, and than what it leads to.
    let (link, file) = (fs::symlink_metadata(path)?, opened.metadata()?);
    Ok(doubt(&link, false, &trusted).or_else(|| doubt(&file, true, &trusted)))
}

fn doubt(metadata: &Metadata, has_mode: bool, trusted: &[u32]) -> Option<String> {
    if !trusted.contains(&metadata.uid()) {
        return Some(format!("it belongs to the user {}", metadata.uid()));
    }
    // The mode of a link says nothing.
    let is_open = has_mode && metadata.mode() & WRITABLE_BY_ALL != 0;
    is_open.then(|| "everybody may write to it".to_owned())
}

/// The user, root, and for root the user who called sudo(8).
fn trusted_owners() -> Vec<u32> {
    let own = geteuid();
    let caller = std::env::var("SUDO_UID").ok().filter(|_| own.is_root());
    [own.as_raw(), 0].into_iter().chain(caller.and_then(|uid| uid.parse().ok())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_files_of_trusted_owners_that_others_cannot_write_are_trusted() {
        let folder = deburr_test_support::Scratch::new("trust");
        let path = folder.join("deburr.toml");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
        let distrusted = |path: &Path| distrust(path, &File::open(path).unwrap()).unwrap();
        assert_eq!(distrusted(&path), None);
        let metadata = fs::metadata(&path).unwrap();
        let of_nobody = doubt(&metadata, true, &[metadata.uid() + 1]);
        assert_eq!(of_nobody, Some(format!("it belongs to the user {}", metadata.uid())));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o646)).unwrap();
        assert_eq!(distrusted(&path).as_deref(), Some("everybody may write to it"));
        let link = folder.join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(distrusted(&link).as_deref(), Some("everybody may write to it"));
        // Another file has its place meanwhile.
        let opened = File::open(&path).unwrap();
        fs::rename(&path, folder.join("other")).unwrap();
        fs::write(&path, "").unwrap();
        assert!(distrust(&path, &opened).unwrap().is_some() && distrusted(&path).is_none());
    }
}

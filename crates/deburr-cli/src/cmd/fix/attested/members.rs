//! A member of a package: what the other members and its own header say of its bytes.
//!
//! In: the package, read once before it is rewritten. Out: [`Members`], a [`Place`] by the paths in the package; layers of an image
//! count as one tree. What a package says of its own members and `rewrite` makes anew (RECORD, md5sums) is left out.

use super::attestation::Attestation;
use super::content;
use super::list::{MAX_LIST_BYTES, is_list};
use super::place::{ChecksumList, Place, around};
use deburr_package::{Limits, Member, Object, Sink, Stopped, read_every};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Lists that are made anew with the package (deb(5)).
const RENEWED: &str = "md5sums";

/// The members of a package.
#[derive(Default)]
pub(crate) struct Members {
    paths: HashSet<PathBuf>,
    /// The links that lead to a path.
    links: HashMap<PathBuf, Vec<PathBuf>>,
    /// Members whose headers hold a hash or a signature, as [`Object::path`].
    signed: HashSet<String>,
    lists: HashMap<PathBuf, Vec<ChecksumList>>,
}

impl Members {
    /// Reads all names of a package, and the lists in it. What cannot be read is reported where it is rewritten.
    pub(crate) fn read(path: &str, package: &[u8], limits: &Limits) -> Members {
        let mut members = Members::default();
        // Nothing in the sink stops it.
        let _ = read_every(path, package, limits, &mut members);
        members
    }

    /// All that vouches for a member.
    pub(crate) fn attestations(&self, object: &Object) -> Vec<Attestation> {
        let mut found = content::attestations(&object.bytes);
        if self.signed.contains(&object.path) {
            found.push(Attestation::new("security.ima or security.evm in its header"));
        }
        found.extend(around(self, &inner(&object.path), &object.bytes));
        found
    }
}

/// The path in the innermost package or layer.
fn inner(path: &str) -> PathBuf {
    PathBuf::from(path.rsplit_once('!').map_or(path, |(_, inner)| inner))
}

impl Place for Members {
    fn names(&self, path: &Path) -> Vec<PathBuf> {
        let mut names = vec![path.to_owned()];
        let mut next = 0;
        while let Some(links) = names.get(next).map(|name| self.links.get(name)) {
            let new: Vec<_> =
                links.into_iter().flatten().filter(|link| !names.contains(link)).cloned().collect();
            names.extend(new);
            next += 1;
        }
        names
    }

    fn has(&self, path: &Path) -> bool {
        self.paths.contains(path)
    }

    fn lists(&self, folder: &Path) -> Vec<ChecksumList> {
        self.lists.get(folder).cloned().unwrap_or_default()
    }
}

impl Sink for Members {
    type Permit = ();

    fn admit(&mut self, _bytes: u64) -> Result<(), Stopped> {
        Ok(())
    }

    fn hold(&mut self, _bytes: u64) -> Result<(), Stopped> {
        Ok(())
    }

    fn object(&mut self, _object: Object, _permit: ()) -> Result<(), Stopped> {
        Ok(())
    }

    fn member(&mut self, member: Member) {
        if let Some(to) = &member.leads_to {
            self.links.entry(inner(to)).or_default().push(inner(&member.path));
        }
        self.paths.insert(inner(&member.path));
        if member.is_signed {
            self.signed.insert(member.path);
        }
    }

    fn wants(&self, path: &str) -> Option<u64> {
        let name = inner(path).file_name()?.to_string_lossy().into_owned();
        (is_list(&name) && name != RENEWED).then_some(MAX_LIST_BYTES)
    }

    fn text(&mut self, path: &str, bytes: Vec<u8>) {
        let path = inner(path);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        self.lists.entry(folder).or_default().push(ChecksumList { path, bytes: Rc::new(bytes) });
    }

    fn pass_over(&mut self) {}

    fn skip(&mut self, _path: String, _reason: String, _fault: bool) -> Result<(), Stopped> {
        Ok(())
    }

    fn progress(&mut self, _bytes: u64) {}
}

//! A tar archive → the images in it, with its files by name and its links followed.
//!
//! In: the archive in memory. Out: [`ImageArchive`], whose files are slices of it; or `None`, where it holds
//! no image.

use super::blobs::Blobs;
use super::manifests::{Image, of_layout, saved};
use crate::tar;
use std::collections::{HashMap, HashSet};

/// An archive of more entries is no image, which has a few for each layer.
const MOST_ENTRIES: usize = 1 << 16;

/// An image in a tar archive.
pub(crate) struct ImageArchive<'a> {
    bytes: &'a [u8],
    files: HashMap<Vec<u8>, (u64, u64)>,
    links: HashMap<Vec<u8>, Vec<u8>>,
    /// Names that more than one entry has.
    several: HashSet<Vec<u8>>,
    pub(crate) images: Vec<Image>,
}

impl Blobs for ImageArchive<'_> {
    fn open<'a>(&'a self, name: &str) -> Option<Box<dyn AsRef<[u8]> + 'a>> {
        Some(Box::new(self.bytes_of(&self.real(name))?))
    }

    fn real(&self, name: &str) -> String {
        let link = self.links.get(name.as_bytes()).and_then(|link| std::str::from_utf8(link).ok());
        link.unwrap_or(name).to_owned()
    }
}

impl<'a> ImageArchive<'a> {
    /// What a file of the archive holds, of this very name.
    pub(crate) fn bytes_of(&self, name: &str) -> Option<&'a [u8]> {
        let (start, size) = self.files.get(name.as_bytes())?;
        tar::slice_of(self.bytes, *start, *size)
    }

    /// Whether more than one entry has a name: which of them counts, tools do not agree on.
    pub(crate) fn has_several(&self, name: &str) -> bool {
        self.several.contains(name.as_bytes())
    }
}

/// Finds the images in a tar archive, if that is what it holds.
pub(crate) fn find(bytes: &[u8]) -> Option<ImageArchive<'_>> {
    let mut found = ImageArchive {
        bytes,
        files: HashMap::new(),
        links: HashMap::new(),
        several: HashSet::new(),
        images: Vec::new(),
    };
    let mut is_small = true;
    tar::list(bytes, |entry| {
        if found.files.contains_key(&entry.name) || found.links.contains_key(&entry.name) {
            found.several.insert(entry.name.clone());
        }
        match entry.link {
            Some(link) => drop(found.links.insert(entry.name.clone(), target(&entry.name, &link))),
            None => drop(found.files.insert(entry.name, (entry.start, entry.size))),
        }
        is_small = found.files.len() + found.links.len() <= MOST_ENTRIES;
        is_small
    });
    if !is_small {
        return None;
    }
    let of_layout = of_layout(&found).filter(|images| !images.is_empty());
    found.images = of_layout.or_else(|| saved(&found).filter(|images| !images.is_empty()))?;
    Some(found)
}

/// Whether the archive in a stream has the files that images have, by their names; what cannot be read is
/// said elsewhere.
pub(crate) fn is_named(stream: &mut dyn std::io::Read) -> bool {
    const FILES: [&[u8]; 3] = [b"manifest.json", b"oci-layout", b"index.json"];
    let mut has = [false; 3];
    tar::names(stream, |name| {
        for (has, file) in has.iter_mut().zip(FILES) {
            *has |= name == file;
        }
    });
    let [saved, layout, index] = has;
    saved || layout && index
}

/// Where a link of an archive leads to.
fn target(name: &[u8], link: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = name.split(|byte| *byte == b'/').collect();
    parts.pop();
    for part in link.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_of_an_archive_is_followed_within_it() {
        assert_eq!(target(b"ab/layer.tar", b"../cd/layer.tar"), b"cd/layer.tar");
        assert_eq!(target(b"a", b"../../../b"), b"b");
    }
}

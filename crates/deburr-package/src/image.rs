//! Container images: an OCI image layout (image-spec, "OCI Image Layout"), as a folder or as a tar archive, and what
//! `docker save` writes → their layers, the last first, so that a file shows once, from the layer that wins.
//!
//! A layer's whiteouts (image-spec, "Image Layer Filesystem Changeset") hide what lies below it. An archive whose blobs
//! cannot be gone to one by one, as it is compressed, is read as any other: layer by layer in its own order.

use crate::name::{shown, tidied};
use crate::reader::{Bytes, Flow, Place, Reader};
use crate::{Sink, tar};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// Documents larger than this are no manifests: the specification asks registries for 4 MiB.
const LARGEST_DOCUMENT: usize = 4 << 20;
/// Indexes in indexes.
const DEEPEST_INDEX: u32 = 4;
const MOST_IMAGES: usize = 1024;
/// An archive of more entries is no image, which has a few for each layer.
const MOST_ENTRIES: usize = 1 << 16;

/// The files of an image, by their names in it.
pub trait Blobs {
    /// The bytes of a file; `None` if there is no such file.
    fn open<'a>(&'a self, name: &str) -> Option<Box<dyn AsRef<[u8]> + 'a>>;

    /// The name of the file that a name leads to, where one is a link.
    fn real(&self, name: &str) -> String {
        name.to_owned()
    }
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Manifest {
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Descriptor {
    digest: String,
    platform: Option<Platform>,
    annotations: Option<HashMap<String, String>>,
}

#[derive(Deserialize)]
struct Platform {
    os: String,
    architecture: String,
    variant: Option<String>,
}

/// An entry of `manifest.json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    layers: Vec<String>,
    repo_tags: Option<Vec<String>>,
}

/// One image: what tells it from the others, and its layers from the first on, as files.
pub(crate) struct Image {
    name: String,
    layers: Vec<String>,
}

/// An image in a tar archive.
pub(crate) struct InTar<'a> {
    bytes: &'a [u8],
    files: HashMap<Vec<u8>, (u64, u64)>,
    links: HashMap<Vec<u8>, Vec<u8>>,
    /// Names that more than one entry has.
    several: HashSet<Vec<u8>>,
    pub(crate) images: Vec<Image>,
}

impl Blobs for InTar<'_> {
    fn open<'a>(&'a self, name: &str) -> Option<Box<dyn AsRef<[u8]> + 'a>> {
        Some(Box::new(self.bytes_of(&self.real(name))?))
    }

    fn real(&self, name: &str) -> String {
        let link = self.links.get(name.as_bytes()).and_then(|link| std::str::from_utf8(link).ok());
        link.unwrap_or(name).to_owned()
    }
}

impl<'a> InTar<'a> {
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

/// A layer to be read.
pub(crate) struct Layer {
    /// For people.
    pub(crate) path: String,
    /// Its file, links followed.
    pub(crate) file: String,
}

/// The layers of images, those of each from the last to the first. What several images share is there once.
pub(crate) fn layers(path: &str, images: &[Image], blobs: &dyn Blobs) -> Vec<Layer> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for (at, image) in images.iter().enumerate() {
        let of_image = image.path(path, at, images.len());
        let count = image.layers.len();
        for (number, layer) in image.layers.iter().enumerate().rev() {
            let file = blobs.real(layer);
            if seen.insert(file.clone()) {
                found.push(Layer { path: format!("{of_image}!layer {}/{count}", number + 1), file });
            }
        }
    }
    found
}

impl Image {
    /// What it is called, the given number of so many.
    fn path(&self, path: &str, at: usize, count: usize) -> String {
        match (count, self.name.as_str()) {
            (1, _) => path.to_owned(),
            (_, "") => format!("{path}!image {}", at + 1),
            (_, name) => format!("{path}!{}", shown(name.as_bytes())),
        }
    }
}

/// Finds the images in a tar archive, if that is what it holds.
pub(crate) fn find(bytes: &[u8]) -> Option<InTar<'_>> {
    let mut found = InTar {
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

/// Whether the archive in a stream has the files that images have, by their names; what cannot be read is said elsewhere.
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

/// The images of `manifest.json`.
fn saved(blobs: &dyn Blobs) -> Option<Vec<Image>> {
    let saved: Vec<Saved> = document(blobs, "manifest.json")?;
    let images = saved.into_iter().take(MOST_IMAGES).map(|image| Image {
        name: image.repo_tags.and_then(|tags| tags.into_iter().next()).unwrap_or_default(),
        layers: image.layers.iter().map(|name| name.trim_start_matches("./").to_owned()).collect(),
    });
    Some(images.collect())
}

/// The images of an image layout. Those whose manifests are elsewhere are none of it: `docker save` lists all platforms and
/// has one.
fn of_layout(blobs: &dyn Blobs) -> Option<Vec<Image>> {
    blobs.open("oci-layout")?;
    let index: Index = document(blobs, "index.json")?;
    let mut images = Vec::new();
    let mut seen = HashSet::new();
    let mut waiting: Vec<(Descriptor, String, u32)> = Vec::new();
    waiting.extend(index.manifests.into_iter().rev().map(|manifest| (manifest, String::new(), 0)));
    while let Some((descriptor, above, depth)) = waiting.pop() {
        let Some(file) = file_of(&descriptor.digest) else { continue };
        if images.len() >= MOST_IMAGES || !seen.insert(file.clone()) {
            continue;
        }
        let name = [above, descriptor.name()].into_iter().filter(|part| !part.is_empty());
        let name = name.collect::<Vec<_>>().join(" ");
        if let Some(index) = document::<Index>(blobs, &file).filter(|_| depth < DEEPEST_INDEX) {
            let below = index.manifests.into_iter().rev();
            waiting.extend(below.map(|manifest| (manifest, name.clone(), depth + 1)));
        } else if let Some(manifest) = document::<Manifest>(blobs, &file).filter(|_| descriptor.is_image()) {
            let layers = manifest.layers.iter().map(|layer| file_of(&layer.digest).unwrap_or_default());
            images.push(Image { name, layers: layers.collect() });
        }
    }
    Some(images)
}

impl Descriptor {
    /// Attestations are manifests for no platform.
    fn is_image(&self) -> bool {
        self.platform.as_ref().is_none_or(|platform| platform.architecture != "unknown")
    }

    fn name(&self) -> String {
        let annotations = self.annotations.as_ref();
        let tag = annotations.and_then(|all| all.get("org.opencontainers.image.ref.name"));
        let platform = self.platform.as_ref().map(|platform| {
            let variant = platform.variant.as_ref().map(|variant| format!("/{variant}")).unwrap_or_default();
            format!("{}/{}{variant}", platform.os, platform.architecture)
        });
        tag.cloned().into_iter().chain(platform).collect::<Vec<_>>().join(" ")
    }
}

/// The file of a digest; `None` unless it is one (image-spec, "Digests"), so that it cannot lead anywhere else.
pub(crate) fn file_of(digest: &str) -> Option<String> {
    let (algorithm, hash) = digest.split_once(':')?;
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_plain(algorithm) && is_plain(hash)).then(|| format!("blobs/{algorithm}/{hash}"))
}

fn document<T: for<'a> Deserialize<'a>>(blobs: &dyn Blobs, name: &str) -> Option<T> {
    let bytes = blobs.open(name)?;
    let bytes = (*bytes).as_ref();
    (bytes.len() <= LARGEST_DOCUMENT).then(|| serde_json::from_slice(bytes).ok())?
}

/// Reads the image layout in a folder.
pub(crate) fn read_layout<S: Sink>(reader: &mut Reader<'_, S>, path: &str, blobs: &dyn Blobs) -> Flow {
    match of_layout(blobs) {
        Some(images) if !images.is_empty() => read(reader, path, &images, blobs, Place::TOP),
        _ => reader.skip(path, "an image layout whose index.json leads to no image", true),
    }
}

/// Reads the layers of images, those of each from the last to the first. What several images share is read once.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    images: &[Image],
    blobs: &dyn Blobs,
    place: Place,
) -> Flow {
    let mut seen = HashSet::new();
    for (at, image) in images.iter().enumerate() {
        let of_image = image.path(path, at, images.len());
        let mut covered = Covered::default();
        let count = image.layers.len();
        for (number, layer) in image.layers.iter().enumerate().rev() {
            if !seen.insert(blobs.real(layer)) {
                continue;
            }
            let path = format!("{of_image}!layer {}/{count}", number + 1);
            let Some(blob) = blobs.open(layer) else {
                reader.skip(&path, &format!("the image lacks {}", shown(layer.as_bytes())), true)?;
                continue;
            };
            reader.layer = Some(covered);
            let place = place.within().payload();
            reader.content(&path, Bytes::Slice((*blob).as_ref()), place)?;
            covered = reader.layer.take().unwrap_or_default();
            match reader.is_every {
                true => covered = Covered::default(),
                false => covered.settle(),
            }
        }
    }
    Ok(())
}

/// The names that the layers above have taken: by hashes of 128 bits that nobody can foresee, so that a million names take
/// little and no image can make two of them meet.
#[derive(Default)]
pub(crate) struct Covered {
    keys: (RandomState, RandomState),
    above: HashSet<u128>,
    /// Those of the layer in hand, which hide nothing in it.
    own: Vec<u128>,
}

impl Covered {
    /// Takes note of a name in the layer in hand; whether it is a file or directory that shows in the image.
    pub(crate) fn is_new(&mut self, name: &[u8], is_directory: bool) -> bool {
        let (folder, file) = match name.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (name.get(..at).unwrap_or_default(), name.get(at + 1..).unwrap_or_default()),
            None => (&b""[..], name),
        };
        if file == b".wh..wh..opq" {
            self.own.push(self.hash(folder));
            return false;
        }
        if let Some(hidden) = file.strip_prefix(b".wh.") {
            let path = if folder.is_empty() { hidden.to_vec() } else { [folder, hidden].join(&b'/') };
            self.own.push(self.hash(&path));
            return false;
        }
        let ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let is_hidden = std::iter::once(0)
            .chain(ends)
            .chain([name.len()])
            .any(|end| self.above.contains(&self.hash(name.get(..end).unwrap_or_default())));
        if !is_directory {
            self.own.push(self.hash(tidied(name)));
        }
        !is_hidden
    }

    /// The layer in hand is done: what it has hides what comes below.
    fn settle(&mut self) {
        self.above.extend(self.own.drain(..));
    }

    fn hash(&self, name: &[u8]) -> u128 {
        u128::from(self.keys.0.hash_one(name)) << 64 | u128::from(self.keys.1.hash_one(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_layer_hides_files_and_whiteouts_hide_folders() {
        let mut covered = Covered::default();
        assert!(covered.is_new(b"usr/bin/a", false));
        assert!(!covered.is_new(b"usr/lib/.wh.old", false));
        assert!(!covered.is_new(b"opt/.wh..wh..opq", false));
        assert!(covered.is_new(b"opt/new", false), "an opaque folder hides nothing of its own layer");
        covered.settle();
        assert!(!covered.is_new(b"usr/bin/a", false));
        assert!(covered.is_new(b"usr/bin/ab", false));
        assert!(!covered.is_new(b"usr/lib/old/x.so", false));
        assert!(!covered.is_new(b"opt/b", false));
        assert!(covered.is_new(b"usr/lib", true));
    }

    #[test]
    fn digest_leads_to_a_blob_and_nowhere_else() {
        assert_eq!(file_of("sha256:0a").as_deref(), Some("blobs/sha256/0a"));
        for wrong in ["sha256:../../etc/passwd", "..:x", "sha256", "sha256:", ":0a"] {
            assert_eq!(file_of(wrong), None);
        }
    }

    #[test]
    fn link_of_an_archive_is_followed_within_it() {
        assert_eq!(target(b"ab/layer.tar", b"../cd/layer.tar"), b"cd/layer.tar");
        assert_eq!(target(b"a", b"../../../b"), b"b");
    }
}

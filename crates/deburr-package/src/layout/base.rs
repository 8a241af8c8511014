//! The image below a new one: image-spec, "Image Layout", "Image Manifest".
//!
//! In: a layout's blobs, and the platform that is wanted. Out: the best of its images that runs there: its layers and its
//! configuration. Documents are checked against their digests; the caller checks layers as it copies them.

use super::descriptor::Descriptor;
use super::digest;
use super::platform::Platform;
use crate::codec::decode::decoded;
use crate::codec::meter::Meter;
use crate::image::{Blobs, file_of};
use crate::limits::Limits;
use crate::sniff::{Found, sniff};
use crate::tar::entries;
use ::tar::EntryType;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Indexes in indexes.
const DEEPEST_INDEX: u32 = 4;
/// The specification demands 4 MiB of registries.
const LARGEST_DOCUMENT: usize = 4 << 20;
/// More entries are no image of a few platforms.
const MOST_ENTRIES: usize = 1024;

/// Platforms that a message names, before it counts the rest.
const MOST_NAMED: usize = 10;

/// An image that another one is made on.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// From the first on.
    pub layers: Vec<Descriptor>,
    pub(super) config: Map<String, Value>,
    pub(super) diff_ids: Vec<String>,
}

/// Why there is no base.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaseError {
    /// It is no image layout.
    NoLayout,
    /// A document is missing, or is not what its digest says, or is malformed: its file, and why.
    Document(String, String),
    /// No image runs on the platform; those that there are.
    NoPlatform(Vec<String>),
    /// Several images are for the same platform.
    Several(String),
    /// A layer of a media type that is not written.
    MediaType(String),
}

/// A text of the layout's without what a terminal would obey, and not longer than a line.
fn tame(text: &str) -> String {
    let short: String = text.chars().take(100).collect();
    deburr_text::one_line(&short).into_owned()
}

impl fmt::Display for BaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BaseError::NoLayout => f.write_str(
                "expected an OCI image layout (`skopeo copy docker-archive:image.tar oci:layout` makes one of another archive)",
            ),
            BaseError::Document(file, reason) => write!(f, "{}: {reason}", tame(file)),
            BaseError::NoPlatform(found) => {
                let named: Vec<String> = found.iter().take(MOST_NAMED).map(|name| tame(name)).collect();
                write!(f, "no image of the layout runs there; it has images for {}", named.join(", "))?;
                match found.len().saturating_sub(MOST_NAMED) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            BaseError::Several(platform) => write!(
                f,
                "several images are for {}; copy one of them into a layout of its own",
                tame(platform)
            ),
            BaseError::MediaType(media_type) => {
                write!(f, "expected layers of tar, gzip or zstd, got the media type {}", tame(media_type))
            }
        }
    }
}

impl std::error::Error for BaseError {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Referred {
    #[serde(default)]
    media_type: String,
    digest: String,
    size: u64,
    platform: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    os: Option<String>,
    architecture: Option<String>,
    variant: Option<String>,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Referred>,
}

#[derive(Deserialize)]
struct Manifest {
    config: Referred,
    layers: Vec<Referred>,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<String>,
}

impl Named {
    /// `None` for another system.
    fn platform(&self) -> Option<Platform> {
        let architecture = self.architecture.as_deref().filter(|_| self.os.as_deref() == Some("linux"))?;
        Some(Platform::normal(architecture, self.variant.as_deref()))
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |part: &Option<String>| part.clone().unwrap_or_else(|| "?".to_owned());
        write!(f, "{}/{}", known(&self.os), known(&self.architecture))?;
        self.variant.iter().try_for_each(|variant| write!(f, "/{variant}"))
    }
}

impl Base {
    /// The best image of a layout for a platform.
    ///
    /// # Errors
    /// [`BaseError`].
    pub fn find(blobs: &dyn Blobs, wanted: &Platform) -> Result<Base, BaseError> {
        if blobs.open("oci-layout").is_none() {
            return Err(BaseError::NoLayout);
        }
        let outer = blobs.open("index.json").ok_or(BaseError::NoLayout)?;
        let index: Index = parsed("index.json", (*outer).as_ref())?;
        let mut waiting: Vec<(Referred, u32)> = index.manifests.into_iter().map(|entry| (entry, 0)).collect();
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        while let Some((referred, depth)) = waiting.pop() {
            if !seen.insert(referred.digest.clone()) {
                continue;
            }
            if seen.len() > MOST_ENTRIES {
                let reason =
                    format!("more than {MOST_ENTRIES} entries; copy one image into a layout of its own");
                return Err(BaseError::Document("index.json".to_owned(), reason));
            }
            // What is for another platform may be missing: tools copy one of several.
            if referred.platform.as_ref().is_some_and(|named| !runs(named, wanted)) {
                found.extend(referred.platform.map(|named| (named, None)));
                continue;
            }
            let (file, bytes) = document(blobs, &referred)?;
            if depth < DEEPEST_INDEX
                && let Ok(index) = serde_json::from_slice::<Index>(&bytes)
            {
                waiting.extend(index.manifests.into_iter().map(|entry| (entry, depth + 1)));
                continue;
            }
            let manifest: Manifest = parsed(&file, &bytes)?;
            let (file, bytes) = document(blobs, &manifest.config)?;
            let config: Map<String, Value> = parsed(&file, &bytes)?;
            let of_config: Named = parsed(&file, &bytes)?;
            let named = referred.platform.unwrap_or(of_config);
            found.push((named, Some((file, manifest, config))));
        }
        best(found, wanted)
    }
}

impl Base {
    /// The paths of symbolic links that the layers leave in the image.
    ///
    /// # Errors
    /// [`BaseError::Document`], where a layer cannot be read.
    pub fn links(&self, blobs: &dyn Blobs) -> Result<Vec<PathBuf>, BaseError> {
        let mut links = Links::default();
        for layer in &self.layers {
            let fault = |reason: String| BaseError::Document(layer.digest.clone(), reason);
            let file = file_of(&layer.digest).ok_or_else(|| fault("expected a digest".to_owned()))?;
            let blob = blobs.open(&file).ok_or_else(|| fault("the layout lacks this blob".to_owned()))?;
            let bytes = (*blob).as_ref();
            let codec = match sniff(bytes) {
                Found::Compressed(codec) => Some(codec),
                _ => None,
            };
            let meter = Meter::new(&Limits::default(), bytes);
            let mut stream = decoded(codec, bytes, &meter);
            let show = |name: &[u8], kind: EntryType| links.entry(name, kind);
            entries(&mut stream, show).map_err(|error| fault(meter.reason(&error)))?;
            links.ends();
        }
        Ok(links.found.into_keys().collect())
    }
}

/// The symbolic links that the layers up to here leave: path, and the layer that has it.
#[derive(Default)]
struct Links {
    found: BTreeMap<PathBuf, usize>,
    layer: usize,
    /// What the layer in hand has hidden of the layers below, where there was something.
    hidden: HashSet<PathBuf>,
}

impl Links {
    /// Takes note of an entry of the layer in hand; whiteouts are those of image-spec, "Image Layer Filesystem Changeset".
    fn entry(&mut self, name: &[u8], kind: EntryType) {
        let path: PathBuf = Path::new(OsStr::from_bytes(name)).components().filter(is_named).collect();
        let hidden = path.file_name().and_then(|name| name.as_bytes().strip_prefix(b".wh."));
        let folder = || path.parent().unwrap_or(Path::new("")).to_owned();
        match hidden {
            Some(b".wh..opq") => self.hide(&folder(), false),
            Some(hidden) => self.hide(&folder().join(OsStr::from_bytes(hidden)), true),
            None if kind.is_symlink() => {
                self.hide(&path, true);
                self.found.insert(path, self.layer);
            }
            None if kind.is_dir() => {
                self.found.remove(&path);
            }
            None => self.hide(&path, true),
        }
    }

    /// The layer in hand ends.
    fn ends(&mut self) {
        self.layer += 1;
        self.hidden.clear();
    }

    /// Removes what layers below have beneath a path, and what is there itself.
    fn hide(&mut self, path: &Path, itself: bool) {
        if itself {
            self.found.remove(path);
        }
        // Layers below add nothing after the first time, and what this layer has beneath stays.
        if self.hidden.contains(path) {
            return;
        }
        let layer = self.layer;
        let below = self.found.range(path.to_owned()..).take_while(|(link, _)| link.starts_with(path));
        let below: Vec<(PathBuf, bool)> =
            below.filter(|(link, _)| *link != path).map(|(link, of)| (link.clone(), *of < layer)).collect();
        for (link, is_lower) in &below {
            if *is_lower {
                self.found.remove(link);
            }
        }
        if !below.is_empty() {
            self.hidden.insert(path.to_owned());
        }
    }
}

fn is_named(part: &Component<'_>) -> bool {
    matches!(part, Component::Normal(_))
}

fn runs(named: &Named, wanted: &Platform) -> bool {
    named.platform().is_some_and(|platform| wanted.and_below().contains(&platform))
}

type Candidate = (Named, Option<(String, Manifest, Map<String, Value>)>);

fn best(mut found: Vec<Candidate>, wanted: &Platform) -> Result<Base, BaseError> {
    for platform in wanted.and_below() {
        let is_it = |candidate: &Candidate| candidate.0.platform().as_ref() == Some(&platform);
        let Some(at) = found.iter().position(is_it) else { continue };
        let (named, image) = found.swap_remove(at);
        if found.iter().any(is_it) {
            return Err(BaseError::Several(named.to_string()));
        }
        let Some((file, manifest, config)) = image else { continue };
        let root = config.get("rootfs").cloned().unwrap_or_default();
        let root: RootFs = serde_json::from_value(root)
            .map_err(|error| BaseError::Document(file.clone(), format!("rootfs: {error}")))?;
        if root.diff_ids.len() != manifest.layers.len() {
            let reason = format!(
                "expected a diff_id for each of {} layers, got {}",
                manifest.layers.len(),
                root.diff_ids.len()
            );
            return Err(BaseError::Document(file, reason));
        }
        let layers = manifest.layers.iter().map(layer).collect::<Result<_, _>>()?;
        return Ok(Base { layers, config, diff_ids: root.diff_ids });
    }
    // Attestations have a platform of their own, and are no images.
    let is_image = |named: &&Named| named.os.as_deref() != Some("unknown");
    let mut names: Vec<String> =
        found.iter().map(|(named, _)| named).filter(is_image).map(ToString::to_string).collect();
    names.sort();
    names.dedup();
    Err(BaseError::NoPlatform(names))
}

/// The descriptor of a layer, by OCI's names (image-spec, "Compatibility Matrix").
fn layer(referred: &Referred) -> Result<Descriptor, BaseError> {
    let kind = match referred.media_type.as_str() {
        "application/vnd.oci.image.layer.v1.tar" | "application/vnd.docker.image.rootfs.diff.tar" => "",
        "application/vnd.oci.image.layer.v1.tar+gzip"
        | "application/vnd.docker.image.rootfs.diff.tar.gzip" => "+gzip",
        "application/vnd.oci.image.layer.v1.tar+zstd" => "+zstd",
        other => return Err(BaseError::MediaType(other.to_owned())),
    };
    Ok(Descriptor {
        media_type: format!("application/vnd.oci.image.layer.v1.tar{kind}"),
        digest: referred.digest.clone(),
        size: referred.size,
    })
}

/// The file of a document and its bytes, which are those of its digest.
fn document(blobs: &dyn Blobs, referred: &Referred) -> Result<(String, Vec<u8>), BaseError> {
    let fault = |reason: &str| BaseError::Document(referred.digest.clone(), reason.to_owned());
    let file = file_of(&referred.digest).ok_or_else(|| fault("expected a digest"))?;
    let blob = blobs.open(&file).ok_or_else(|| fault("the layout lacks this blob"))?;
    let bytes = (*blob).as_ref();
    if bytes.len() > LARGEST_DOCUMENT {
        return Err(fault("a document of more than 4 MiB"));
    }
    if digest(bytes) != referred.digest || bytes.len() as u64 != referred.size {
        return Err(fault("the blob is not what its digest and size say; copy the base again"));
    }
    Ok((file, bytes.to_vec()))
}

fn parsed<T: for<'a> Deserialize<'a>>(file: &str, bytes: &[u8]) -> Result<T, BaseError> {
    serde_json::from_slice(bytes).map_err(|error| BaseError::Document(file.to_owned(), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The links that layers leave; an entry is `name`, `folder/` or `link@`.
    fn left(layers: &[&[&str]]) -> Vec<String> {
        let mut links = Links::default();
        for layer in layers {
            for entry in *layer {
                let (name, kind) = match entry.strip_suffix('@') {
                    Some(name) => (name, EntryType::Symlink),
                    None if entry.ends_with('/') => (*entry, EntryType::Directory),
                    None => (*entry, EntryType::Regular),
                };
                links.entry(name.as_bytes(), kind);
            }
            links.ends();
        }
        links.found.into_keys().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn links_are_those_that_the_last_layer_leaves() {
        let base: &[&str] = &["./usr/", "./lib@", "./opt/", "./opt/a@", "./opt/b/", "./opt/b/c@", "liberty@"];
        assert_eq!(left(&[base]), ["lib", "liberty", "opt/a", "opt/b/c"]);
        assert_eq!(left(&[base, &["lib/"]]), ["liberty", "opt/a", "opt/b/c"]);
        assert_eq!(left(&[base, &["lib/", "lib/x"], &["lib@"]]), ["lib", "liberty", "opt/a", "opt/b/c"]);
        assert_eq!(left(&[base, &[".wh.lib", "opt/b/.wh.c"]]), ["liberty", "opt/a"]);
        assert_eq!(left(&[base, &[".wh.opt"]]), ["lib", "liberty"]);
        // An opaque folder hides nothing of its own layer, wherever its mark is.
        assert_eq!(left(&[base, &["opt/new@", "opt/.wh..wh..opq"]]), ["lib", "liberty", "opt/new"]);
        assert_eq!(left(&[base, &["opt/.wh..wh..opq", "opt/new@"]]), ["lib", "liberty", "opt/new"]);
        // A file in place of a folder.
        assert_eq!(left(&[base, &["opt"]]), ["lib", "liberty"]);
        assert_eq!(left(&[base, &["opt@"]]), ["lib", "liberty", "opt"]);
        assert_eq!(left(&[base, &["../../lib", "/usr/../opt/a"]]), ["liberty", "opt/a", "opt/b/c"]);
    }
    #[test]
    fn many_links_and_marks_take_no_long_time() {
        let begun = std::time::Instant::now();
        let mut links = Links::default();
        for layer in 0..2 {
            for at in 0..20_000 {
                links.entry(format!("opt/{layer}-{at}").as_bytes(), EntryType::Symlink);
            }
            for _ in 0..20_000 {
                links.entry(b"opt/.wh..wh..opq", EntryType::Regular);
                links.entry(b"opt/x/.wh.y", EntryType::Regular);
            }
            links.ends();
        }
        assert_eq!(links.found.len(), 20_000);
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    }
}

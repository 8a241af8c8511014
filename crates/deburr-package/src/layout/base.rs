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
use std::path::{Component, PathBuf};

/// Indexes in indexes.
const DEEPEST_INDEX: u32 = 4;
/// The specification demands 4 MiB of registries.
const LARGEST_DOCUMENT: usize = 4 << 20;
/// More entries are no image of a few platforms.
const MOST_ENTRIES: usize = 1024;

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

impl fmt::Display for BaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BaseError::NoLayout => f.write_str(
                "expected an OCI image layout (`skopeo copy docker-archive:image.tar oci:layout` makes one of another archive)",
            ),
            BaseError::Document(file, reason) => write!(f, "{file}: {reason}"),
            BaseError::NoPlatform(found) => {
                write!(f, "no image of the layout runs there; it has images for {}", found.join(", "))
            }
            BaseError::Several(platform) => write!(
                f,
                "several images are for {platform}; copy one of them into a layout of its own"
            ),
            BaseError::MediaType(media_type) => {
                write!(f, "expected layers of tar, gzip or zstd, got the media type {media_type}")
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
            if seen.len() >= MOST_ENTRIES || !seen.insert(referred.digest.clone()) {
                continue;
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
        let mut is_link = BTreeMap::new();
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
            let show = |name: &[u8], kind: EntryType| {
                let path = PathBuf::from(OsStr::from_bytes(name));
                is_link.insert(path.components().filter(is_named).collect::<PathBuf>(), kind.is_symlink());
            };
            entries(&mut stream, show).map_err(|error| fault(meter.reason(&error)))?;
        }
        Ok(is_link.into_iter().filter(|(_, is_link)| *is_link).map(|(path, _)| path).collect())
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
    let mut names: Vec<String> = found.iter().map(|(named, _)| named.to_string()).collect();
    names.sort();
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

//! Manifests and indexes → the images of a layout, or of what `docker save` writes.
//!
//! image-spec, "OCI Image Layout", "Content Descriptors". In: blobs by name. Out: images with their names,
//! and their layers as files. Digests lead to blobs and nowhere else.

use super::blobs::Blobs;
use crate::name::shown;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};

/// Documents larger than this are no manifests: the specification demands 4 MiB of registries.
const LARGEST_DOCUMENT: usize = 4 << 20;
/// Indexes in indexes.
const DEEPEST_INDEX: u32 = 4;
const MOST_IMAGES: usize = 1024;

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Manifest {
    config: Option<Descriptor>,
    layers: Vec<Descriptor>,
}

/// What an image's configuration says of its platform.
#[derive(Deserialize)]
struct Configuration {
    architecture: Option<String>,
    variant: Option<String>,
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
    config: Option<String>,
    layers: Vec<String>,
    repo_tags: Option<Vec<String>>,
}

/// One image: what distinguishes it from the others, and its layers from the first on, as files.
pub(crate) struct Image {
    name: String,
    pub(crate) layers: Vec<String>,
    /// The architecture and the variant that its descriptor states.
    pub(crate) platform: Option<(String, Option<String>)>,
    /// The file of its configuration.
    pub(crate) configuration: Option<String>,
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
    pub(crate) fn path(&self, path: &str, at: usize, count: usize) -> String {
        match (count, self.name.as_str()) {
            (1, _) => path.to_owned(),
            (_, "") => format!("{path}!image {}", at + 1),
            (_, name) => format!("{path}!{}", shown(name.as_bytes())),
        }
    }
}

/// The images of `manifest.json`.
pub(super) fn saved(blobs: &dyn Blobs) -> Option<Vec<Image>> {
    let saved: Vec<Saved> = document(blobs, "manifest.json")?;
    let images = saved.into_iter().take(MOST_IMAGES).map(|image| Image {
        name: image.repo_tags.and_then(|tags| tags.into_iter().next()).unwrap_or_default(),
        layers: image.layers.iter().map(|name| name.trim_start_matches("./").to_owned()).collect(),
        platform: None,
        configuration: image.config.map(|name| name.trim_start_matches("./").to_owned()),
    });
    Some(images.collect())
}

/// The images of an image layout. Those whose manifests are elsewhere are none of it: `docker save` lists all
/// platforms and has one.
pub(crate) fn of_layout(blobs: &dyn Blobs) -> Option<Vec<Image>> {
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
            let platform = descriptor.platform.map(|platform| (platform.architecture, platform.variant));
            let configuration = manifest.config.and_then(|config| file_of(&config.digest));
            images.push(Image { name, layers: layers.collect(), platform, configuration });
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

/// The architecture and the variant that an image's configuration states.
pub(crate) fn platform_of_configuration(blobs: &dyn Blobs, file: &str) -> Option<(String, Option<String>)> {
    let Configuration { architecture, variant } = document(blobs, &blobs.real(file))?;
    Some((architecture?, variant))
}

/// The file of a digest; `None` unless it is one (image-spec, "Digests"), so that it cannot lead anywhere
/// else.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_leads_to_a_blob_and_nowhere_else() {
        assert_eq!(file_of("sha256:0a").as_deref(), Some("blobs/sha256/0a"));
        for wrong in ["sha256:../../etc/passwd", "..:x", "sha256", "sha256:", ":0a"] {
            assert_eq!(file_of(wrong), None);
        }
    }
}

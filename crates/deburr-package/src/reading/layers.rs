//! The layers of container images, those of each image from the last to the first.
//!
//! In: images and their blobs. Out: the content of each layer, as of any other package. A file shows once,
//! from the layer that wins.

use super::reader::{Bytes, Flow, Nesting, Reader};
use super::whiteouts::Covered;
use crate::image::Blobs;
use crate::image::manifests::{Image, of_layout};
use crate::name::shown;
use crate::sink::Sink;
use std::collections::HashSet;

/// Reads the image layout in a folder.
pub(crate) fn read_layout<S: Sink>(reader: &mut Reader<'_, S>, path: &str, blobs: &dyn Blobs) -> Flow {
    match of_layout(blobs) {
        Some(images) if !images.is_empty() => read(reader, path, &images, blobs, Nesting::TOP),
        _ => reader.skip(path, "an image layout whose index.json leads to no image", true),
    }
}

/// Reads the layers of images, those of each from the last to the first. What several images share is read
/// once.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    images: &[Image],
    blobs: &dyn Blobs,
    nesting: Nesting,
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
            let nesting = nesting.within().payload();
            reader.content(&path, Bytes::Slice((*blob).as_ref()), nesting)?;
            covered = reader.layer.take().unwrap_or_default();
            match reader.is_every {
                true => covered = Covered::default(),
                false => covered.settle(),
            }
        }
    }
    Ok(())
}

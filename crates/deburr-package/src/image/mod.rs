//! Container images: an OCI image layout (image-spec, "OCI Image Layout"), as a folder or as a tar archive,
//! and what `docker save` writes → their images and layers, for reading and for rewriting.
//!
//! An archive whose blobs cannot be gone to one by one, as it is compressed, is read as any other: layer by
//! layer in its own order.

pub(crate) mod archive;
mod blobs;
pub(crate) mod manifests;
pub(crate) mod unpacked;

pub use blobs::Blobs;
pub(crate) use manifests::file_of;

/// The files of a tar archive that holds an image; `None` where it holds none.
pub fn archive(bytes: &[u8]) -> Option<impl Blobs + '_> {
    archive::find(bytes)
}

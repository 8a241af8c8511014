//! Container images of several levels, written as an OCI image layout (image-spec 1.1).
//!
//! In: the files of each image ([`LayerWriter`]), its platform and its base ([`Base`]). Out: the bytes of the blobs: a
//! gzip layer, and the documents that refer to it. The same input is the same bytes.

mod base;
mod descriptor;
mod document;
mod layer;
mod platform;

pub use base::{Base, BaseError};
pub use descriptor::Descriptor;
pub use document::{Document, Settings, config, image_layout, index, manifest, outer_index};
pub use layer::{Layer, LayerWriter};
pub use platform::Platform;

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The digest of bytes (image-spec, "Digests").
pub fn digest(bytes: &[u8]) -> String {
    named(Sha256::digest(bytes).as_slice())
}

/// The name of a hash.
fn named(hash: &[u8]) -> String {
    hash.iter().fold(String::from("sha256:"), |mut name, byte| {
        // A String takes all that is written to it.
        let _ = write!(name, "{byte:02x}");
        name
    })
}

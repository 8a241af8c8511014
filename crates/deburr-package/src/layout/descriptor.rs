//! Where a blob is: image-spec, "Content Descriptors".
//!
//! In: a blob's media type, digest and size. Out: how documents refer to it.

use serde_json::{Value, json};

/// Where a blob is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// The media type.
    pub media_type: String,
    /// `sha256:` and the hash.
    pub digest: String,
    /// In bytes.
    pub size: u64,
}

impl Descriptor {
    /// As it is in documents.
    pub(super) fn value(&self) -> Value {
        json!({ "mediaType": self.media_type, "digest": self.digest, "size": self.size })
    }
}

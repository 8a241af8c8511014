//! `manifest.json`, from which a launcher chooses: the forms of each file, with what they need.

use deburr_core::report::SCHEMA_VERSION;
use serde::Serialize;

/// The version that wrote a document.
pub(super) const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a launcher chooses by.
#[derive(Debug, Serialize)]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    pub(crate) tool_version: &'static str,
    pub(crate) files: Vec<ManifestFile>,
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest { schema_version: SCHEMA_VERSION, tool_version: TOOL_VERSION, files: Vec::new() }
    }
}

/// One file of a manifest.
#[derive(Debug, Serialize)]
pub(crate) struct ManifestFile {
    pub(crate) name: String,
    /// The best first: of those whose needs a CPU has, the first is to be taken.
    pub(crate) variants: Vec<Variant>,
}

/// One form of a file.
#[derive(Debug, Serialize)]
pub(crate) struct Variant {
    /// From the folder of the manifest on.
    pub(crate) path: String,
    /// Features beyond armv8.0-a.
    pub(crate) needs: Vec<String>,
    pub(crate) sha256: String,
    pub(crate) size: u64,
}

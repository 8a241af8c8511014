//! What a package says that it is.
//!
//! Each format fills it in as far as the package states it. Nothing is guessed from the name of its file, except the platform
//! tag of a wheel, which is stated there.

use serde_json::Value;

/// What a package says that it is, as far as it says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its name.
    pub name: Option<String>,
    /// Its version, with the build or release of that.
    pub version: Option<String>,
    /// Its architecture, as its own tools call it: `arm64`, `aarch64`, `manylinux_2_17_aarch64`, `linux-aarch64`.
    pub architecture: Option<String>,
    /// When it was built, in seconds since 1970.
    pub built: Option<i64>,
}

/// A text of a JSON object.
pub(super) fn text(object: &Value, name: &str) -> Option<String> {
    object.get(name).and_then(Value::as_str).map(str::to_owned)
}

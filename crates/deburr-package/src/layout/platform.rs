//! The platform of an image: image-spec, "Image Index", "Platform Variants".
//!
//! In: an architecture and a variant, by their names there. Out: which other platforms' images run on a machine of it, as
//! containerd orders them (github.com/containerd/platforms, `platformVector`).

use serde::Serialize;
use std::fmt;

/// A platform; the system is Linux.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Platform {
    /// `amd64` or `arm64`.
    pub architecture: String,
    /// `v2` and above for `amd64`; `v8`, `v8.1` and so on for `arm64`. None: the first of its architecture.
    pub variant: Option<String>,
}

#[derive(Serialize)]
struct Named<'a> {
    architecture: &'a str,
    os: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
}

impl Platform {
    /// The platform with the one name for what has several: `amd64` is `amd64/v1`, and `arm64` is `arm64/v8`.
    #[must_use]
    pub fn normal(architecture: &str, variant: Option<&str>) -> Platform {
        let variant = variant.filter(|variant| match architecture {
            "amd64" => *variant != "v1",
            "arm64" => *variant != "v8" && *variant != "8",
            _ => true,
        });
        let variant = variant.filter(|variant| !variant.is_empty()).map(str::to_owned);
        Platform { architecture: architecture.to_owned(), variant }
    }

    /// As it is in documents.
    pub(super) fn value(&self) -> serde_json::Value {
        let named = Named { architecture: &self.architecture, os: "linux", variant: self.variant.as_deref() };
        serde_json::to_value(named).unwrap_or_default()
    }

    /// The platforms whose images run on this one, best first; itself is the first.
    #[must_use]
    pub fn and_below(&self) -> Vec<Platform> {
        let of = |variant: String| Platform::normal(&self.architecture, Some(&variant));
        let mut all = vec![self.clone()];
        let version = self.variant.as_deref().and_then(|variant| variant.strip_prefix('v'));
        let (major, minor) = version.map_or(("", "0"), |text| text.split_once('.').unwrap_or((text, "0")));
        let (Ok(major), Ok(minor)) = (major.parse::<u32>(), minor.parse::<u32>()) else { return all };
        match (self.architecture.as_str(), major) {
            ("amd64", _) => all.extend((1..major).rev().map(|major| of(format!("v{major}")))),
            ("arm64", 8) => all.extend(minors(8, minor).map(of)),
            // Armv9.0-A has all of Armv8.5-A (Arm ARM, A1.7).
            ("arm64", 9) => all.extend(minors(9, minor).chain(minors(8, minor + 6)).map(of)),
            _ => {}
        }
        all
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "linux/{}", self.architecture)?;
        self.variant.iter().try_for_each(|variant| write!(f, "/{variant}"))
    }
}

/// The minor versions below one, from the highest on; the first has no number.
fn minors(major: u32, below: u32) -> impl Iterator<Item = String> {
    (0..below).rev().map(move |minor| match minor {
        0 => format!("v{major}"),
        _ => format!("v{major}.{minor}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(architecture: &str, variant: &str) -> Vec<String> {
        let all = Platform::normal(architecture, Some(variant)).and_below();
        all.into_iter().map(|platform| platform.variant.unwrap_or_default()).collect()
    }

    #[test]
    fn platforms_are_in_the_order_of_containerd() {
        assert_eq!(below("amd64", "v3"), ["v3", "v2", ""]);
        assert_eq!(below("amd64", "v1"), [""]);
        assert_eq!(below("arm64", "v8.2"), ["v8.2", "v8.1", ""]);
        assert_eq!(
            below("arm64", "v9.1"),
            ["v9.1", "v9", "v8.6", "v8.5", "v8.4", "v8.3", "v8.2", "v8.1", ""]
        );
    }
}

//! Container images: `platform` of each manifest's descriptor, or the `architecture` and `variant` of its configuration
//! (image-spec, "Image Index", "Image Configuration").

use super::statement::{Artefact, Claim, Machines, Statement};
use crate::image::Blobs;
use crate::image::manifests::{Image, platform_of_configuration};

/// The claim of each image that makes one.
pub(super) fn claims(path: &str, blobs: &dyn Blobs, images: &[Image]) -> Vec<Claim> {
    let claim = |(at, image): (usize, &Image)| {
        let stated = image.platform.as_ref().map(|platform| (platform.clone(), "the index"));
        let configured = image.configuration.as_ref().and_then(|file| platform_of_configuration(blobs, file));
        let configured = configured.map(|platform| (platform, "the configuration"));
        let statements: Vec<Statement> = stated
            .into_iter()
            .chain(configured)
            .flat_map(|((architecture, variant), place)| {
                of_platform(&architecture, variant.as_deref(), place)
            })
            .collect();
        let part = image.path(path, at, images.len());
        (!statements.is_empty()).then_some(Claim { part, artefact: Artefact::Image, statements })
    };
    images.iter().enumerate().filter_map(claim).collect()
}

/// What a platform says: its architecture, and its variant, which refines that.
fn of_platform(architecture: &str, variant: Option<&str>, place: &str) -> Vec<Statement> {
    let machines = match architecture {
        "amd64" => Machines::Level("x86-64".to_owned()),
        "arm64" => Machines::Level("armv8.0-a".to_owned()),
        _ => Machines::Elsewhere,
    };
    let general = Statement::new(place, format!("architecture {architecture}"), machines);
    let variant = variant.filter(|variant| !variant.is_empty()).map(|variant| {
        let text = format!("platform {architecture}/{variant}");
        Statement::new(place, text, of_variant(architecture, variant)).refining()
    });
    [general].into_iter().chain(variant).collect()
}

/// By containerd's names: `v3` of amd64, `v8.2` of arm64.
fn of_variant(architecture: &str, variant: &str) -> Machines {
    let version = variant.strip_prefix('v').unwrap_or(variant);
    let level = match architecture {
        "amd64" => match version {
            "1" => Some("x86-64".to_owned()),
            "2" | "3" | "4" => Some(format!("x86-64-v{version}")),
            _ => None,
        },
        "arm64" => {
            let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
            let is_known = matches!(major, "8" | "9") && minor.parse::<u8>().is_ok_and(|minor| minor <= 9);
            is_known.then(|| format!("armv{major}.{minor}-a"))
        }
        _ => return Machines::Elsewhere,
    };
    level.map_or(Machines::Unknown, Machines::Level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_levels() {
        let of = |architecture, variant| -> Vec<Machines> {
            of_platform(architecture, variant, "here")
                .into_iter()
                .map(|statement| statement.machines)
                .collect()
        };
        let level = |name: &str| Machines::Level(name.to_owned());
        assert_eq!(of("amd64", None), [level("x86-64")]);
        assert_eq!(of("amd64", Some("v3")), [level("x86-64"), level("x86-64-v3")]);
        assert_eq!(of("arm64", Some("v8")), [level("armv8.0-a"), level("armv8.0-a")]);
        assert_eq!(of("arm64", Some("v8.2"))[1], level("armv8.2-a"));
        assert_eq!(of("amd64", Some("v7"))[1], Machines::Unknown);
        assert_eq!(of("s390x", None), [Machines::Elsewhere]);
    }
}

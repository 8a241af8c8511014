//! What a file of the batch is as a whole: a package, an archive or a binary → its hash, and what it says of itself.
//!
//! In: its path and bytes. Out: [`Artefact`], which comes before the outcomes of what is in it, where anybody wants it.

use crate::input::content::Content;
use crate::input::image_layout::ImageLayout;
use crate::sha256::sha256;
use deburr_package::claim::{Claim, Identity, claims, claims_of_layout, identity};
use deburr_package::{Format, Found, Limits, sniff};
use deburr_tables::ArtefactOf;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A file of the batch as a whole.
#[derive(Debug, Default)]
pub(crate) struct Artefact {
    pub(crate) path: String,
    /// What its claim is of: `wheel`, `deb`, `rpm`, `image`, `conda`, `npm`; otherwise what its bytes are: `zip`, `tar`,
    /// `compressed`, `archive`, `elf`.
    pub(crate) kind: &'static str,
    /// `None` of a folder.
    pub(crate) sha256: Option<String>,
    pub(crate) bytes: Option<u64>,
    pub(crate) identity: Identity,
    /// What it says of the machines that it is for, with the places.
    pub(crate) claims: Vec<String>,
}

impl Artefact {
    /// Of bytes.
    pub(super) fn of(path: &str, bytes: &[u8], limits: &Limits) -> Artefact {
        let (kind, is_package) = match (Content::of_all(bytes), sniff(bytes)) {
            (Content::Elf, _) => ("elf", false),
            (Content::Archive, _) => ("archive", false),
            (_, Found::Package(format)) => (name(format), true),
            (_, Found::Compressed(_)) => ("compressed", true),
            _ => ("other", false),
        };
        // A panic must cost what a package says, and not the package: its members are read apart from that.
        let said = || match is_package {
            true => (identity(path, bytes, limits), claims(path, bytes, limits)),
            false => <(Identity, Vec<Claim>)>::default(),
        };
        let (identity, claims) = catch_unwind(AssertUnwindSafe(said)).unwrap_or_default();
        Artefact {
            path: path.to_owned(),
            kind: claims.first().map_or(kind, |claim| claim.artefact.name()),
            sha256: Some(sha256([bytes])),
            bytes: Some(bytes.len() as u64),
            identity,
            claims: shown(&claims),
        }
    }

    /// As the tables have it.
    pub(crate) fn row(&self) -> ArtefactOf<'_> {
        ArtefactOf {
            path: &self.path,
            kind: self.kind,
            sha256: self.sha256.as_deref(),
            bytes: self.bytes,
            package: self.identity.name.as_deref(),
            version: self.identity.version.as_deref(),
            architecture: self.identity.architecture.as_deref(),
            built: self.identity.built,
            claims: &self.claims,
            tool_version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// Of a folder that is a container image.
    pub(super) fn of_layout(path: &str, layout: &ImageLayout) -> Artefact {
        let claims = catch_unwind(AssertUnwindSafe(|| claims_of_layout(path, layout))).unwrap_or_default();
        Artefact { path: path.to_owned(), kind: "image", claims: shown(&claims), ..Artefact::default() }
    }
}

const fn name(format: Format) -> &'static str {
    match format {
        Format::Deb => "deb",
        Format::Rpm => "rpm",
        Format::Zip => "zip",
        Format::Tar => "tar",
        Format::Adb | Format::Squashfs | Format::SevenZip | Format::Cpio | Format::Iso | Format::Jmod => {
            format.name()
        }
    }
}

/// Each statement once.
fn shown(claims: &[Claim]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for statement in claims.iter().flat_map(|claim| &claim.statements) {
        let text = statement.shown();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

//! What a package says of the machines that it is for, and where it says so.
//!
//! In: the name and the bytes of a package. Out: [`Claim`]s, each of a part of the package: of a container image with
//! several manifests there are several. Only what the package states is read, nothing is measured, and nothing is
//! presumed: a package without a statement has no claim. Next to it, what a package says that it is ([`identity`]): name,
//! version, architecture and when it was built; `.PKGINFO` of Alpine and Arch Linux, too.
//!
//! | package | statements |
//! |---|---|
//! | wheel | platform tags of the file name and of `WHEEL`; properties of `variant.json` (PEP 825) |
//! | `.deb` | `Architecture`, `Architecture-Variant`, and a dependency on `sse4.2-support` or its like |
//! | `.rpm` | the header's ARCH, `x86_64_v3` too |
//! | container image | `architecture` and `variant` of each manifest or configuration |
//! | conda | `subdir`, and a dependency on `_x86_64-microarch-level` |
//! | npm | `cpu` and `os` of `package.json`, in the folder that all of the archive is in |
//! | application or library for Android | `targetSdkVersion` of `AndroidManifest.xml`, from 35 on: machines with pages of 16 KiB |
//! | any | a member's path: `Linux/x86_64/`, `jni/arm64-v8a/` ([`of_path`]) |

pub(crate) mod android;
mod conda;
mod deb;
mod identity;
mod image;
mod members;
mod npm;
mod path;
mod pkginfo;
mod rpm;
mod statement;
mod wheel;

use crate::codec::meter::Meter;
use crate::image::Blobs;
use crate::limits::Limits;
use crate::name::shown;
use crate::sniff::{Format, Found, sniff};
pub use identity::Identity;
pub use path::of_path;
pub use statement::{Artefact, Claim, Contradiction, Machines, Statement, Systems};

/// The claims of a package: none where it makes none, or is no package that makes any. `path` is what people call
/// it; a wheel's tags are in it.
pub fn claims(path: &str, bytes: &[u8], limits: &Limits) -> Vec<Claim> {
    let meter = Meter::new(limits, bytes);
    let one = |artefact, statements: Vec<Statement>| {
        let claim = Claim { part: path.to_owned(), artefact, statements };
        if claim.statements.is_empty() { Vec::new() } else { vec![claim] }
    };
    match sniff(bytes) {
        Found::Package(Format::Deb) => one(Artefact::Deb, deb::statements(bytes, &meter)),
        Found::Package(Format::Rpm) => one(Artefact::Rpm, rpm::statements(bytes)),
        Found::Package(Format::Zip) => match wheel::statements(path, bytes, &meter) {
            statements if !statements.is_empty() => one(Artefact::Wheel, statements),
            _ => match conda::of_zip(bytes, &meter) {
                statements if !statements.is_empty() => one(Artefact::Conda, statements),
                _ => one(Artefact::Android, android::statements(bytes, &Meter::new(limits, bytes))),
            },
        },
        Found::Package(Format::Tar) => match crate::image::archive::find(bytes) {
            Some(archive) => image::claims(path, &archive, &archive.images),
            None => Vec::new(),
        },
        Found::Compressed(codec) => match conda::of_stream(codec, bytes, &meter) {
            statements if !statements.is_empty() => one(Artefact::Conda, statements),
            _ => one(Artefact::Npm, npm::statements(codec, bytes, &Meter::new(limits, bytes))),
        },
        _ => Vec::new(),
    }
}

/// What a package says that it is; empty where it says nothing, or is no package that says so. `path` is what people call it.
pub fn identity(path: &str, bytes: &[u8], limits: &Limits) -> Identity {
    let meter = Meter::new(limits, bytes);
    let again = || Meter::new(limits, bytes);
    let found = match sniff(bytes) {
        Found::Package(Format::Deb) => deb::identity(bytes, &meter),
        Found::Package(Format::Rpm) => rpm::identity(bytes),
        Found::Package(Format::Zip) => match wheel::identity(path, bytes, &meter) {
            found if found != Identity::default() => found,
            _ => {
                conda::index_of_zip(bytes, &again()).as_ref().map_or_else(Identity::default, conda::identity)
            }
        },
        Found::Compressed(codec) => match conda::index_of_stream(codec, bytes, &meter) {
            Some(index) => conda::identity(&index),
            None => match npm::identity(codec, bytes, &again()) {
                found if found != Identity::default() => found,
                _ => pkginfo::identity(codec, bytes, &again()),
            },
        },
        _ => Identity::default(),
    };
    let tidy = |text: Option<String>| text.map(|text| shown(text.as_bytes())).filter(|text| !text.is_empty());
    Identity {
        name: tidy(found.name),
        version: tidy(found.version),
        architecture: tidy(found.architecture),
        built: found.built,
    }
}

/// The claims of a container image in a folder.
pub fn claims_of_layout(path: &str, blobs: &dyn Blobs) -> Vec<Claim> {
    let images = crate::image::manifests::of_layout(blobs).unwrap_or_default();
    image::claims(path, blobs, &images)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_package_claim_nothing() {
        let limits = Limits::default();
        for bytes in [
            &b""[..],
            b"\x7fELF",
            b"PK\x03\x04",
            b"\x1f\x8b\x08\x00",
            b"!<arch>\ndebian-binary   ",
            &[0xed, 0xab, 0xee, 0xdb],
        ] {
            assert_eq!(claims("x.whl", bytes, &limits), []);
        }
    }
}

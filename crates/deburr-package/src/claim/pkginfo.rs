//! Packages of Alpine and Arch Linux: `.PKGINFO`, lines `key = value` (PKGINFO(5); Alpine's wiki, "Apk spec").

use super::identity::Identity;
use super::members::{of_tar, unpacked};
use crate::codec::meter::Meter;
use crate::sniff::Codec;
use std::rc::Rc;

/// What a package is, in the compressed archive that the package manager downloads.
pub(super) fn identity(codec: Codec, bytes: &[u8], meter: &Rc<Meter>) -> Identity {
    // Signatures and other metadata may be before it, all of hidden names.
    let is_metadata = |name: &str| name.starts_with('.');
    let document = of_tar(unpacked(codec, bytes, meter), |name| name == ".PKGINFO", is_metadata);
    document.map_or_else(Identity::default, |document| of_document(&String::from_utf8_lossy(&document)))
}

fn of_document(document: &str) -> Identity {
    let value = |key: &str| {
        let mut pairs = document.lines().filter_map(|line| line.split_once('='));
        pairs.find(|(found, _)| found.trim() == key).map(|(_, value)| value.trim().to_owned())
    };
    Identity {
        name: value("pkgname"),
        version: value("pkgver"),
        architecture: value("arch"),
        built: value("builddate").and_then(|seconds| seconds.parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_and_comments_are_not() {
        let found =
            of_document("# pkgname = no\npkgname = zlib\npkgver = 1.3-r2\narch = x86_64\nbuilddate = 17\n");
        let [name, version, architecture] = ["zlib", "1.3-r2", "x86_64"].map(|text| Some(text.to_owned()));
        assert_eq!(found, Identity { name, version, architecture, built: Some(17) });
        assert_eq!(of_document("builddate = soon\n"), Identity::default());
    }
}

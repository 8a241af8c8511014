//! Patch stage: files that must stay as they are, whatever is in them.

use crate::note;
use deburr_core::image::layout::Layout;
use deburr_core::image::{Image, Kind};
use deburr_cpu::Arch;
use std::fmt;

/// Why a file must not be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Unfit {
    /// Nothing is rewritten but A64 code.
    Architecture,
    /// Its relocations are still to be applied; compile it again.
    Relocatable,
    /// The Linux kernel, or a module of it: it changes its own code.
    Kernel,
    /// It compares its own code with a stated hash.
    HashesItself,
    /// It unpacks its code when it starts.
    Packed,
    /// Its relocations could not all be read: they may hold pointers into a site.
    Relocations,
    /// It was patched already.
    Patched,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unfit::Architecture => "only AArch64 code is rewritten",
            Unfit::Relocatable => "a relocatable object: rewrite what it is linked into, or compile it again",
            Unfit::Kernel => "the Linux kernel or a module of it, which changes its own code",
            Unfit::HashesItself => "it holds its own code against a stated hash (FIPS module)",
            Unfit::Relocations => "it has relocations of a format or type that deburr does not read",
            Unfit::Packed => "its code is packed: unpack it first",
            Unfit::Patched => "deburr has patched it already: --revert gives the original back",
        })
    }
}

/// Symbols between which FIPS modules of OpenSSL 1 and BoringSSL hash their code.
const HASHED: &[&str] =
    &["FIPS_text_start", "FIPS_incore_fingerprint", "BORINGSSL_bcm_text_start", "BORINGSSL_bcm_text_hash"];
/// The parameter by which OpenSSL 3 hands its FIPS module the hash of the module's file.
const MODULE_MAC: &[u8] = b"module-mac\0";
/// What BoringSSL's and AWS-LC's FIPS modules print when the hash of their code is another one (`crypto/fipsmodule/bcm.c`); other builds
/// lack it, and stripped modules have it alone.
const INTEGRITY_TEST: &[u8] = b"FIPS integrity test failed.";
/// What UPX leaves in a file.
const UPX: &[u8] = b"UPX!";

pub(crate) fn unfit(image: &Image<'_>) -> Option<Unfit> {
    let is_hashed = || {
        image.symbols.iter().any(|symbol| HASHED.contains(&symbol.name.as_ref()))
            || [MODULE_MAC, INTEGRITY_TEST].iter().any(|mark| {
                image.constants.iter().any(|(_, data)| memchr::memmem::find(data, mark).is_some())
            })
    };
    // The loader stub is at the end; the program headers of packed files are followed by the first mark.
    let is_packed = || image.bytes.get(..512).is_some_and(|head| memchr::memmem::find(head, UPX).is_some());
    if image.arch != Arch::Aarch64 {
        Some(Unfit::Architecture)
    } else if image.build.is_linux_kernel {
        Some(Unfit::Kernel)
    } else if image.kind == Kind::Relocatable {
        Some(Unfit::Relocatable)
    } else if Layout::of(image.bytes).is_ok_and(|layout| note::is_in(&layout)) {
        Some(Unfit::Patched)
    } else if image.has_unread_relocations {
        Some(Unfit::Relocations)
    } else if is_packed() {
        Some(Unfit::Packed)
    } else if is_hashed() {
        Some(Unfit::HashesItself)
    } else {
        None
    }
}

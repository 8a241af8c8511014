//! What vouches for the bytes of a file.

use crate::render::fix::outcome::Break;

/// Something that holds a hash or a signature of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attestation {
    /// A noun phrase: `libfreebl3.chk`, `fs-verity`.
    pub(crate) by: String,
    /// As [`Break::what`].
    what: &'static str,
}

impl Attestation {
    pub(crate) fn new(by: impl Into<String>) -> Attestation {
        Attestation { by: by.into(), what: "attested" }
    }

    /// An extended attribute that the kernel compares (IMA, EVM), or another.
    pub(crate) fn attribute(name: &str) -> Attestation {
        let what = if name.starts_with("security.") { "ima" } else { "attested" };
        Attestation { by: format!("its attribute {name}"), what }
    }

    /// Why the file stays as it is, and what overrides that.
    pub(crate) fn refusal(&self) -> String {
        format!(
            "its bytes are attested by {}, which a rewritten file would not match (--despite-signature rewrites it all the same)",
            self.by
        )
    }

    /// What no longer fits where the file is rewritten all the same.
    pub(crate) fn broken(&self) -> Break {
        let text =
            format!("{} attests the original and does not match the rewritten file: make it anew", self.by);
        Break { what: self.what, text }
    }
}

//! Packages: bytes → the binaries in them, and back; with no more memory than the limits allow, and an end.

use deburr_package::claim::{claims, identity};
use deburr_package::{Limits, Object, Sink, Stopped, read, rewrite};

/// Small, so that an input of a few kilobytes cannot keep a run busy; each is reached.
pub(crate) const LIMITS: Limits =
    Limits { depth: 6, members: 1_000, member_bytes: 1 << 20, unpacked_bytes: 4 << 20, ratio: 200 };

pub(crate) struct Held;

impl Sink for Held {
    type Permit = u64;

    fn admit(&mut self, bytes: u64) -> Result<u64, Stopped> {
        assert!(bytes <= LIMITS.member_bytes);
        Ok(bytes)
    }

    fn hold(&mut self, bytes: u64) -> Result<(), Stopped> {
        assert!(bytes <= 2 * LIMITS.member_bytes);
        Ok(())
    }

    fn object(&mut self, object: Object, permit: u64) -> Result<(), Stopped> {
        assert_eq!(object.bytes.len() as u64, permit);
        assert!(!object.path.chars().any(char::is_control));
        Ok(())
    }

    fn pass_over(&mut self) {}

    fn skip(&mut self, path: String, _reason: String, _fault: bool) -> Result<(), Stopped> {
        assert!(path.starts_with("p"));
        Ok(())
    }

    fn progress(&mut self, _bytes: u64) {}
}

/// Reads a package and what it says of itself, and rewrites it with every binary a byte longer.
///
/// # Panics
/// Where a limit is passed, or the package is other bytes exactly where nothing changed.
pub fn package(data: &[u8]) {
    let _ = read("p", data, &LIMITS, &mut Held);
    let said = identity("p.whl", data, &LIMITS);
    for text in [said.name, said.version, said.architecture].into_iter().flatten() {
        assert!(!text.is_empty() && !text.chars().any(char::is_control));
    }
    for claim in claims("p.whl", data, &LIMITS) {
        assert!(!claim.statements.is_empty());
    }
    let longer = &mut |object: &Object| {
        assert!(object.bytes.len() as u64 <= LIMITS.member_bytes);
        Some([object.bytes.as_slice(), b"!"].concat())
    };
    if let Ok(made) = rewrite("p", data, &LIMITS, longer) {
        assert_eq!(made.changed.is_empty(), made.bytes == data);
    }
}

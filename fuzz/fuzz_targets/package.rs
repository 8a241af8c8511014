//! The package reader and the rewriter: whatever the bytes are, no panic, no more memory than the limits allow, and an end.

#![no_main]

use deburr_package::{Limits, Object, Sink, Stopped, read, rewrite};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits =
    Limits { depth: 6, members: 10_000, member_bytes: 4 << 20, unpacked_bytes: 64 << 20, ratio: 200 };

struct Held;

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

fuzz_target!(|data: &[u8]| {
    let _ = read("p", data, &LIMITS, &mut Held);
    let longer = &mut |object: &Object| {
        assert!(object.bytes.len() as u64 <= LIMITS.member_bytes);
        Some([object.bytes.as_slice(), b"!"].concat())
    };
    if let Ok(made) = rewrite("p", data, &LIMITS, longer) {
        assert_eq!(made.changed.is_empty(), made.bytes == data);
    }
});

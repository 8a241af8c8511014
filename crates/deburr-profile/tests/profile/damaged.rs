//! Damaged profiles: an error, or a profile that adds up; never a panic, and never much time.

use super::{adds_up, bytes, parsed};
use deburr_profile::{Format, Request, read, sniff};
use std::io::Cursor;

const FILES: [&str; 17] = [
    "build-ids.data",
    "chains.data",
    "compressed.data",
    "events.data",
    "group.data",
    "injected.data",
    "jit.data",
    "pipe.data",
    "pipe-compressed.data",
    "spe.data",
    "untimed.data",
    "chains.script",
    "srcline.script",
    "pie.callgrind",
    "lines.callgrind",
    "fixed.pprof",
    "pie.pprof",
];

/// xorshift64
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

#[test]
fn a_profile_that_is_cut_off_is_refused_or_adds_up() {
    for name in FILES {
        let whole = bytes(name);
        let mut refused = 0;
        for part in 0..64 {
            let cut = &whole[..whole.len() * part / 64];
            match parsed(cut) {
                Ok(profile) => adds_up(&profile),
                Err(error) => {
                    refused += 1;
                    assert!(error.offset <= 1 << 40 && !error.expected.is_empty(), "{name}: {error}");
                }
            }
        }
        // A pipe, and the text of chains, may end between any two records.
        assert!(refused >= 48, "{name}: only {refused} of 64 are refused");
    }
}

#[test]
fn changed_bytes_give_an_error_or_a_profile_that_adds_up() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let dump = bytes("jit.dump");
    for name in FILES {
        let whole = bytes(name);
        for _ in 0..250 {
            let (mut changed, mut dump) = (whole.clone(), dump.clone());
            for _ in 0..=random.below(6) {
                let at = random.below(changed.len());
                changed[at] = random.below(256) as u8;
                let at = random.below(dump.len());
                dump[at] ^= 1 << random.below(8);
            }
            let jitdumps: &[(&str, &[u8])] = &[("/opt/recordings/jit-27922.dump", &dump)];
            if let Ok(profile) = read(&mut Cursor::new(&changed), &Request { jitdumps, ..Request::default() })
            {
                adds_up(&profile);
            }
        }
    }
}

#[test]
fn formats_are_recognised_by_their_beginning() {
    for name in FILES {
        let expected = match name.rsplit('.').next() {
            Some("data") => Format::PerfData,
            Some("script") => Format::PerfScript,
            Some("callgrind") => Format::Callgrind,
            _ => Format::Pprof,
        };
        let whole = bytes(name);
        assert_eq!(sniff(&whole[..64]), Some(expected), "{name}");
    }
    for other in [&b"\x7fELF\x02\x01\x01"[..], b"", b"\x28\xb5\x2f\xfd"] {
        assert_eq!(sniff(other), None);
        assert!(parsed(other).is_err());
    }
    let reversed = parsed(b"2ELIFREP\0\0\0\0\0\0\0\x68").expect_err("big-endian").to_string();
    assert_eq!(reversed, "at offset 0x0: expected a perf.data of a little-endian machine");
}

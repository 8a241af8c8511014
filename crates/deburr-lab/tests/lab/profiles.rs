//! Profiles as perf and callgrind wrote them (`tests/profiles/`), counted again by other means; and hostile ones.

use deburr_lab::readers::profile::{Profile, Unit, read};
use deburr_lab::stats::random::Random;
use std::io::{BufReader, Read};
use std::time::{Duration, Instant};

const V1: &str = include_str!("../profiles/pages-v1.perf");
const V3: &str = include_str!("../profiles/pages-v3.perf");
const CHAINS: &str = include_str!("../profiles/pages-v3-chains.perf");
const V1_COUNTS: &str = include_str!("../profiles/pages-v1.callgrind");
const V3_COUNTS: &str = include_str!("../profiles/pages-v3.callgrind");

fn profile(text: &str) -> Profile {
    read(&mut text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// What was seen of a function, whatever its file.
fn sum(profile: &Profile, name: &str) -> f64 {
    profile.functions.iter().filter(|(function, _)| function.name == name).map(|(_, weight)| weight.sum).sum()
}

#[test]
fn samples_of_perf_are_counted_as_a_search_counts_them() {
    for text in [V1, V3] {
        let found = profile(text);
        let lines = |needle: &str| text.lines().filter(|line| line.contains(needle)).count() as f64;
        assert_eq!(found.unit, Unit::Time);
        assert_eq!(found.total().sum, text.lines().count() as f64);
        assert_eq!(sum(&found, "sum_page"), lines(" sum_page "));
        assert_eq!(sum(&found, "walk.constprop.0"), lines(" walk.constprop.0 "));
        assert_eq!(found.kernel.sum, lines("([kernel.kallsyms])"));
        assert!(sum(&found, "sum_page") > 0.0 && found.kernel.sum > 0.0);
    }
    let chains = profile(CHAINS);
    let samples = CHAINS.lines().filter(|line| line.ends_with("cpu-clock: ")).count();
    assert_eq!(chains.total().samples, samples as u64);
    // 2 ms of 500 Hz, in nanoseconds.
    assert_eq!(chains.total().sum, samples as f64 * 2e6);
    assert_eq!(sum(&chains, "__libc_start_call_main"), 0.0, "a caller is not what ran");
}

#[test]
fn counts_of_callgrind_are_those_that_it_sums_up_itself() {
    for (text, total, pages) in [(V1_COUNTS, 0.0, 0.0), (V3_COUNTS, 4_242_108.0, 1_827_200.0)] {
        let found = profile(text);
        let stated = text.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
        assert_eq!(found.total().sum, stated.parse::<f64>().unwrap());
        assert_eq!(found.unit, Unit::Events("Ir".to_owned()));
        if total > 0.0 {
            assert_eq!((found.total().sum, sum(&found, "sum_page")), (total, pages));
        }
        assert_eq!(sum(&found, "walk.constprop.0"), 2_400_500.0);
        assert!(found.nameless.sum > 0.0);
    }
}

#[test]
fn a_profile_that_is_cut_anywhere_is_refused_or_has_whole_samples_only() {
    let whole = profile(V1).total().samples;
    for end in (0..V1.len()).step_by(97) {
        match read(&mut &V1.as_bytes()[..end]) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(found) => {
                assert!(V1.as_bytes()[end - 1] == b'\n' && found.total().samples < whole, "{end}");
            }
        }
    }
    for text in [V1_COUNTS, V3_COUNTS] {
        let whole = profile(text);
        for at in 0..text.len() {
            // After the last function's own count only calls come, which are counted where they lead.
            if let Ok(found) = read(&mut &text.as_bytes()[..at]) {
                assert!(found == whole && at > text.len() / 2, "{at}");
            }
        }
    }
}

/// A stream without an end to speak of, which nobody could hold.
struct Endless<'t> {
    piece: &'t [u8],
    at: usize,
    left: usize,
}

impl Read for Endless<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.piece[self.at..];
        let count = rest.len().min(into.len()).min(self.left);
        into[..count].copy_from_slice(&rest[..count]);
        self.at = (self.at + count) % self.piece.len();
        self.left -= count;
        Ok(count)
    }
}

/// The memory of this process at its peak, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_hundred_megabytes_are_read_in_little_memory() {
    for text in [V1, CHAINS] {
        let before = peak();
        let repeats = (100 << 20) / text.len() + 1;
        let stream = Endless { piece: text.as_bytes(), at: 0, left: repeats * text.len() };
        let found = read(&mut BufReader::new(stream)).unwrap();
        assert_eq!(found.total().samples, profile(text).total().samples * repeats as u64);
        // Other tests of this process may have grown meanwhile; the stream alone is 100 MiB.
        assert!(peak() - before < 64 << 10, "{} KiB", peak() - before);
    }
}

#[test]
fn broken_profiles_are_read_or_refused_but_nothing_else() {
    let begun = Instant::now();
    let mut random = Random::new(5);
    for text in [V1, CHAINS, V1_COUNTS] {
        // Enough of each, so that a change at random often meets something that matters.
        let whole = &text.as_bytes()[..text.len().min(3000)];
        for _ in 0..1500 {
            let mut bytes = whole.to_vec();
            for _ in 0..=(random.bits() % 6) {
                let at = (random.uniform() * bytes.len() as f64) as usize;
                match random.bits() % 4 {
                    0 => bytes[at] = random.bits() as u8,
                    1 => bytes.truncate(at.max(1)),
                    2 => bytes.insert(at, b"()[]\t\n +*=:0x\x1b\xff"[(random.bits() % 15) as usize]),
                    _ => bytes.extend_from_within(at..),
                }
            }
            if let Ok(found) = read(&mut bytes.as_slice()) {
                let total = found.total();
                assert!(total.sum > 0.0 && total.sum.is_finite());
                assert!(found.functions.iter().all(|(_, weight)| weight.sum >= 0.0));
            }
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// No line takes more time than its length asks for.
#[test]
fn hostile_lines_take_no_long_time() {
    let begun = Instant::now();
    let padded = format!("{:>20}", "a").repeat(40_000);
    let lines = [padded + ")\n", "(".repeat((1 << 20) - 1) + "\n", format!("x{})\n", " (/)".repeat(200_000))];
    for line in &lines {
        assert!(read(&mut line.repeat(8).as_bytes()).is_err());
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

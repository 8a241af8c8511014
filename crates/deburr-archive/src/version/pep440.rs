//! Python's versions and their order: PEP 440 and its appendix B, kept by PyPA as "Version specifiers".

use super::{compare_digits, split_while};
use std::cmp::Ordering;

/// `[N!]N(.N)*[{a|b|rc}N][.postN][.devN][+local]`, with all the spellings that are normalised to it. The order of the fields is that
/// of their weight.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pep440 {
    epoch: Number,
    /// Without zeros at its end.
    release: Vec<Number>,
    pre: Pre,
    post: Option<Number>,
    dev: Dev,
    local: Vec<Local>,
}

/// Decimal digits.
#[derive(Debug, Clone)]
struct Number(String);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Pre {
    /// A development release of what has no pre-release and is none after the release: before all pre-releases.
    DevOnly,
    Alpha(Number),
    Beta(Number),
    Candidate(Number),
    No,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Dev {
    Yes(Number),
    No,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Local {
    Text(String),
    Number(Number),
}

impl Pep440 {
    /// `None` where the text is no version.
    pub(crate) fn parse(text: &str) -> Option<Pep440> {
        let lower = text.trim().to_ascii_lowercase();
        let (public, local) = match lower.split_once('+') {
            Some((public, local)) => (public, local_of(local)?),
            None => (lower.as_str(), Vec::new()),
        };
        let mut rest = Rest(public.strip_prefix('v').unwrap_or(public).as_bytes());
        let mut first = rest.number()?;
        let epoch =
            if rest.sign(b"!") { std::mem::replace(&mut first, rest.number()?) } else { Number::zero() };
        let mut release = vec![first];
        while let Some(number) = rest.after_dot() {
            release.push(number);
        }
        while release.last().is_some_and(Number::is_zero) {
            release.pop();
        }
        // The longer spellings come first, since the shorter ones begin them.
        let pre = rest.phase(&["alpha", "a", "beta", "b", "preview", "pre", "rc", "c"]);
        let post = match rest.phase(&["post", "rev", "r"]) {
            Some((_, number)) => Some(number),
            None => rest.implicit_post(),
        };
        let dev = rest.phase(&["dev"]);
        let pre = match (pre, &post, &dev) {
            (Some((phase, number)), ..) => match phase.as_bytes().first() {
                Some(b'a') => Pre::Alpha(number),
                Some(b'b') => Pre::Beta(number),
                _ => Pre::Candidate(number),
            },
            (None, None, Some(_)) => Pre::DevOnly,
            _ => Pre::No,
        };
        let dev = dev.map_or(Dev::No, |(_, number)| Dev::Yes(number));
        rest.0.is_empty().then_some(Pep440 { epoch, release, pre, post, dev, local })
    }

    /// Whether an installer passes it over where there is another: a pre-release, or a development release.
    pub(crate) fn is_prerelease(&self) -> bool {
        self.pre != Pre::No || self.dev != Dev::No
    }
}

/// Parts between `.`, `-` and `_`.
fn local_of(text: &str) -> Option<Vec<Local>> {
    let parts = text.split(['.', '-', '_']).map(|part| {
        let is_part = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        let of = |text: &str| {
            if is_number { Local::Number(Number(text.to_owned())) } else { Local::Text(text.to_owned()) }
        };
        is_part.then(|| of(part))
    });
    parts.collect()
}

/// What is still to be parsed.
struct Rest<'t>(&'t [u8]);

impl Rest<'_> {
    fn number(&mut self) -> Option<Number> {
        let (digits, rest) = split_while(self.0, u8::is_ascii_digit);
        if digits.is_empty() {
            return None;
        }
        self.0 = rest;
        Some(Number(String::from_utf8_lossy(digits).into_owned()))
    }

    fn sign(&mut self, sign: &[u8]) -> bool {
        let rest = self.0.strip_prefix(sign);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// `.N`
    fn after_dot(&mut self) -> Option<Number> {
        let mut after = Rest(self.0.strip_prefix(b".")?);
        let number = after.number()?;
        self.0 = after.0;
        Some(number)
    }

    /// `-N`, a post-release.
    fn implicit_post(&mut self) -> Option<Number> {
        let mut after = Rest(self.0.strip_prefix(b"-")?);
        let number = after.number()?;
        self.0 = after.0;
        Some(number)
    }

    /// One of some words and its number, which may be left out; a separator may be before each.
    fn phase<'w>(&mut self, words: &[&'w str]) -> Option<(&'w str, Number)> {
        let (_, begin) = separated(self.0);
        let word = words.iter().find(|word| begin.starts_with(word.as_bytes()))?;
        self.0 = begin.get(word.len()..)?;
        (_, self.0) = separated(self.0);
        Some((word, self.number().unwrap_or_else(Number::zero)))
    }
}

/// One separator, if there is one, and the rest.
fn separated(text: &[u8]) -> (&[u8], &[u8]) {
    let length = usize::from(matches!(text.first(), Some(b'.' | b'-' | b'_')));
    text.split_at_checked(length).unwrap_or((&[], text))
}

impl Number {
    fn zero() -> Number {
        Number("0".to_owned())
    }

    fn is_zero(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'0')
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        compare_digits(self.0.as_bytes(), other.0.as_bytes())
    }
}

/// As the order has it: `01` and `1` are equal.
impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Pep440 {
        Pep440::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    /// PEP 440, "Summary of permitted suffixes and relative ordering", and the tests of `packaging`.
    #[test]
    fn the_examples_of_the_specification_are_in_order() {
        let sorted = [
            "1.dev0",
            "1.0.dev456",
            "1.0a1",
            "1.0a2.dev456",
            "1.0a12.dev456",
            "1.0a12",
            "1.0b1.dev456",
            "1.0b2",
            "1.0b2.post345.dev456",
            "1.0b2.post345",
            "1.0rc1.dev456",
            "1.0rc1",
            "1.0",
            "1.0+abc.5",
            "1.0+abc.7",
            "1.0+5",
            "1.0.post456.dev34",
            "1.0.post456",
            "1.0.15",
            "1.1.dev1",
            "1!0.1",
        ];
        for (at, one) in sorted.iter().enumerate() {
            for (other_at, other) in sorted.iter().enumerate() {
                assert_eq!(of(one).cmp(&of(other)), at.cmp(&other_at), "{one} {other}");
            }
        }
    }

    #[test]
    fn spellings_are_normalised() {
        for (one, other) in [
            ("1.0", "1"),
            ("v1.0", "1.0.0"),
            ("1.0-alpha.1", "1.0a1"),
            ("1.0_PREVIEW", "1.0rc0"),
            ("1.0c4", "1.0rc4"),
            ("1.0-5", "1.0.post5"),
            ("1.0rev", "1.0.post0"),
            ("1.0r3", "1.0.post3"),
            ("1.0dev", "1.0.dev0"),
            ("1.0+Ubuntu-1", "1.0+ubuntu.1"),
            ("01.02", "1.2"),
            ("1.0a.post1", "1.0a0.post1"),
            ("1.0a-1", "1.0a1"),
            ("1.0a-.post1", "1.0a0.post1"),
            ("1.0a--1", "1.0a0.post1"),
        ] {
            assert_eq!(of(one), of(other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_version_is_none() {
        for text in
            ["", "v", "a", "1.", "1..2", "1.0+", "1.0+a..b", "1.0-x", "1!", "!1", "1.0 2", "1.0a1a1", "ü"]
        {
            assert!(Pep440::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn pre_releases_and_development_releases_are_known() {
        for (text, is) in [
            ("1.0", false),
            ("1.0.post1", false),
            ("1.0rc1", true),
            ("1.0.dev1", true),
            ("1.0.post1.dev1", true),
        ] {
            assert_eq!(of(text).is_prerelease(), is, "{text}");
        }
    }
}

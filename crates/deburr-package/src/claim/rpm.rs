//! RPM packages: the tags of the header, and of them ARCH (RPM's documentation, "RPM V4 package format"), whose values are those of
//! `rpmrc`: `x86_64`, `x86_64_v3`, `aarch64`, `noarch`.

use super::identity::Identity;
use super::statement::{Machines, Statement};

const LEAD: usize = 96;
const MAGIC: [u8; 4] = [0x8e, 0xad, 0xe8, 1];
/// The tags that are read.
const NAME: u32 = 1000;
const VERSION: u32 = 1001;
const RELEASE: u32 = 1002;
const BUILDTIME: u32 = 1006;
const ARCH: u32 = 1022;
/// Their types.
const INT32: u32 = 4;
const STRING: u32 = 6;

/// The statement of an RPM package.
pub(super) fn statements(bytes: &[u8]) -> Vec<Statement> {
    let Some(arch) = arch(bytes) else { return Vec::new() };
    let machines = of_arch(&arch);
    vec![Statement::new("the header", format!("arch {arch}"), machines)]
}

fn of_arch(name: &str) -> Machines {
    match name {
        "x86_64" | "amd64" => Machines::Level("x86-64".to_owned()),
        "x86_64_v2" | "x86_64_v3" | "x86_64_v4" => Machines::Level(name.replace('_', "-")),
        "aarch64" => Machines::Level("armv8.0-a".to_owned()),
        "noarch" => Machines::Any,
        other if other.starts_with("x86_64_") || other.starts_with("aarch64_") => Machines::Unknown,
        _ => Machines::Elsewhere,
    }
}

/// What an RPM package is.
pub(super) fn identity(bytes: &[u8]) -> Identity {
    let Some(header) = main_header(bytes) else { return Identity::default() };
    let version = header.text(VERSION).map(|version| match header.text(RELEASE) {
        Some(release) => format!("{version}-{release}"),
        None => version,
    });
    Identity {
        name: header.text(NAME),
        version,
        architecture: header.text(ARCH),
        built: header.number(BUILDTIME).map(i64::from),
    }
}

fn arch(bytes: &[u8]) -> Option<String> {
    main_header(bytes)?.text(ARCH)
}

/// The header after the signature.
fn main_header(bytes: &[u8]) -> Option<Header<'_>> {
    let (_, signature) = header(bytes.get(LEAD..)?)?;
    let begin = LEAD.checked_add(signature.next_multiple_of(8))?;
    header(bytes.get(begin..)?).map(|(header, _)| header)
}

struct Header<'a> {
    /// Entries of 16 bytes.
    index: &'a [u8],
    /// What they point to.
    store: &'a [u8],
}

impl<'a> Header<'a> {
    /// Where the value of a tag begins.
    fn value(&self, tag: u32, kind: u32) -> Option<&'a [u8]> {
        let is_it = |entry: &&[u8]| number_at(entry, 0) == Some(tag) && number_at(entry, 4) == Some(kind);
        let entry = self.index.chunks_exact(16).find(is_it)?;
        self.store.get(usize::try_from(number_at(entry, 8)?).ok()?..)
    }

    fn text(&self, tag: u32) -> Option<String> {
        let text = self.value(tag, STRING)?;
        let end = text.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(text.get(..end)?).into_owned())
    }

    fn number(&self, tag: u32) -> Option<u32> {
        number_at(self.value(tag, INT32)?, 0)
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A header and its size.
fn header(bytes: &[u8]) -> Option<(Header<'_>, usize)> {
    let intro = bytes.get(..16)?;
    if intro.get(..4)? != MAGIC {
        return None;
    }
    let number = |at: usize| Some(u32::from_be_bytes(intro.get(at..at + 4)?.try_into().ok()?) as usize);
    let (entries, size) = (number(8)?.checked_mul(16)?, number(12)?);
    let (begin, end) = (16_usize.checked_add(entries)?, 16_usize.checked_add(entries)?.checked_add(size)?);
    Some((Header { index: bytes.get(16..begin)?, store: bytes.get(begin..end)? }, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_levels() {
        assert_eq!(of_arch("x86_64_v3"), Machines::Level("x86-64-v3".to_owned()));
        assert_eq!(of_arch("x86_64"), Machines::Level("x86-64".to_owned()));
        assert_eq!(
            (of_arch("noarch"), of_arch("ppc64le"), of_arch("x86_64_v7")),
            (Machines::Any, Machines::Elsewhere, Machines::Unknown)
        );
    }
}

//! RPM packages: the tag ARCH of the header (RPM's documentation, "RPM V4 package format"), whose values are those of
//! `rpmrc`: `x86_64`, `x86_64_v3`, `aarch64`, `noarch`.

use super::statement::{Machines, Statement};

const LEAD: usize = 96;
const MAGIC: [u8; 4] = [0x8e, 0xad, 0xe8, 1];
/// RPMTAG_ARCH, and the type of a string.
const ARCH: u32 = 1022;
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

fn arch(bytes: &[u8]) -> Option<String> {
    let (_, signature) = header(bytes.get(LEAD..)?)?;
    let begin = LEAD.checked_add(signature.next_multiple_of(8))?;
    let (header, _) = header(bytes.get(begin..)?)?;
    let Header { index, store } = header;
    let number = |entry: &[u8], at: usize| Some(u32::from_be_bytes(entry.get(at..at + 4)?.try_into().ok()?));
    let entry = index
        .chunks_exact(16)
        .find(|entry| number(entry, 0) == Some(ARCH) && number(entry, 4) == Some(STRING))?;
    let text = store.get(usize::try_from(number(entry, 8)?).ok()?..)?;
    let end = text.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(text.get(..end)?).into_owned())
}

struct Header<'a> {
    /// Entries of 16 bytes.
    index: &'a [u8],
    /// What they point to.
    store: &'a [u8],
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

//! Static archives: bytes → (name, bytes) of each member. System V/GNU and BSD formats, as ar(5) describes them.

/// The members of an archive, in its order, without symbol and name tables.
///
/// # Errors
/// What was expected, and at which offset, where the archive contradicts itself; members before that are lost.
pub(crate) fn members(bytes: &[u8]) -> Result<Vec<(String, &[u8])>, String> {
    let mut members = Vec::new();
    let mut long_names: &[u8] = &[];
    let mut at = 8_usize;
    while at < bytes.len() {
        let malformed =
            |expected: &str| format!("malformed archive at file offset {at:#x}: expected {expected}");
        let header =
            bytes.get(at..at.saturating_add(60)).ok_or_else(|| malformed("a member header of 60 bytes"))?;
        if header.get(58..60) != Some(b"`\n") {
            return Err(malformed("a member header that ends with 0x60 0x0a"));
        }
        let size = number(header.get(48..58)).ok_or_else(|| malformed("a decimal member size"))?;
        let start = at.saturating_add(60);
        let body = start
            .checked_add(size)
            .and_then(|end| bytes.get(start..end))
            .ok_or_else(|| malformed(&format!("a member of {size} bytes, past the end of the file")))?;
        let name = header.get(..16).unwrap_or_default().trim_ascii_end();
        match name {
            b"/" | b"/SYM64/" | b"__.SYMDEF" | b"__.SYMDEF SORTED" => {}
            b"//" => long_names = body,
            _ => {
                let (name, body) =
                    resolve(name, body, long_names).ok_or_else(|| malformed("a member name"))?;
                if !name.starts_with(b"__.SYMDEF") {
                    members.push((String::from_utf8_lossy(name).into_owned(), body));
                }
            }
        }
        at = start.saturating_add(size).saturating_add(size & 1);
    }
    Ok(members)
}

/// A member's name and contents: GNU `/12` points into the name table, BSD `#1/20` puts the name before the
/// contents, and GNU short names end with a slash.
fn resolve<'a>(name: &'a [u8], body: &'a [u8], long_names: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    if let Some(length) = name.strip_prefix(b"#1/") {
        let (name, body) = body.split_at_checked(number(Some(length))?)?;
        let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        return Some((name.get(..end)?, body));
    }
    if let Some(offset) = name.strip_prefix(b"/") {
        let rest = long_names.get(number(Some(offset))?..)?;
        let line = rest.split(|&b| b == b'\n').next()?;
        return Some((line.strip_suffix(b"/").unwrap_or(line), body));
    }
    Some((name.strip_suffix(b"/").unwrap_or(name), body))
}

fn number(digits: Option<&[u8]>) -> Option<usize> {
    std::str::from_utf8(digits?).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, body: &[u8]) -> Vec<u8> {
        let mut bytes =
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, body.len()).into_bytes();
        bytes.extend_from_slice(body);
        if body.len() % 2 == 1 {
            bytes.push(b'\n');
        }
        bytes
    }

    #[test]
    fn members_of_gnu_and_bsd_archives_have_their_names() {
        let mut bytes = b"!<arch>\n".to_vec();
        bytes.extend(member("/", b"symbols"));
        bytes.extend(member("//", b"a_rather_long_name.o/\n"));
        bytes.extend(member("/0", b"one"));
        bytes.extend(member("b.o/", b"two!"));
        bytes.extend(member("#1/4", b"c.o\0three"));
        let found = members(&bytes).unwrap();
        let names: Vec<_> = found.iter().map(|(name, body)| (name.as_str(), *body)).collect();
        assert_eq!(names, [("a_rather_long_name.o", &b"one"[..]), ("b.o", b"two!"), ("c.o", b"three")]);
    }

    #[test]
    fn truncated_archive_is_refused_with_its_offset() {
        let mut bytes = b"!<arch>\n".to_vec();
        bytes.extend(member("b.o/", b"four"));
        bytes.truncate(70);
        assert!(members(&bytes).unwrap_err().contains("0x8"));
    }
}

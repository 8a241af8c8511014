//! Where a package is, as an index writes it → a path below the root, or a URL.
//!
//! Whoever writes an index must not choose what is read outside the archive: a path that leaves the root is refused, and so is every
//! scheme but HTTP's. RFC 3986: sections 2.1 (percent-encoding), 5.2 (relative references).

/// A path that an index gives below the archive's root, without empty parts and `.`.
pub(crate) fn below_root(path: &str) -> Result<String, String> {
    if path.starts_with('/') {
        return Err("is absolute".to_owned());
    }
    if path.contains("://") || path.contains('\\') {
        return Err("is no path".to_owned());
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        step(&mut parts, part, false)?;
    }
    joined(&parts)
}

/// A link on a page, which is in this folder of the archive. What it says of a part of the file (`#`) is left out.
pub(crate) fn linked(folder: &str, link: &str) -> Result<String, String> {
    let (link, _) = split_fragment(link);
    if is_url(link) {
        return checked_url(link);
    }
    if has_scheme(link) || link.starts_with("//") {
        return Err("is no URL of HTTP".to_owned());
    }
    let path = link.split('?').next().unwrap_or_default();
    if path.is_empty() {
        return Err("is empty".to_owned());
    }
    let folder = if path.starts_with('/') { "" } else { folder };
    let mut parts: Vec<String> =
        folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    for part in path.split('/') {
        step(&mut parts, &decoded(part)?, true)?;
    }
    joined(&parts)
}

/// A link and what follows `#`.
pub(crate) fn split_fragment(link: &str) -> (&str, &str) {
    link.split_once('#').unwrap_or((link, ""))
}

/// The name of the file at a path, a URL or a link, percent-decoded.
pub(crate) fn file_name(link: &str) -> Result<String, String> {
    let (link, _) = split_fragment(link);
    let path = link.split('?').next().unwrap_or_default();
    decoded(path.rsplit('/').next().unwrap_or_default())
}

/// A URL of HTTP, and no other.
pub(crate) fn checked_url(url: &str) -> Result<String, String> {
    let authority = url.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    let has_host = authority.is_some_and(|authority| !authority.is_empty());
    let is_clean = !url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\');
    if is_url(url) && has_host && is_clean { Ok(url.to_owned()) } else { Err("is no URL of HTTP".to_owned()) }
}

pub(crate) fn is_url(text: &str) -> bool {
    let begins = |scheme: &str| text.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme));
    begins("http://") || begins("https://")
}

fn has_scheme(link: &str) -> bool {
    let scheme = link.split(['/', '?']).next().and_then(|first| first.split_once(':'));
    scheme.is_some()
}

fn step(parts: &mut Vec<String>, part: &str, may_return: bool) -> Result<(), String> {
    if part.contains(|c: char| c.is_control() || c == '/' || c == '\\') {
        return Err("has a character that no path has".to_owned());
    }
    match part {
        "" | "." => {}
        ".." if may_return && parts.pop().is_some() => {}
        ".." => return Err("leaves the root of the archive".to_owned()),
        part => parts.push(part.to_owned()),
    }
    Ok(())
}

fn joined(parts: &[String]) -> Result<String, String> {
    if parts.is_empty() { Err("is empty".to_owned()) } else { Ok(parts.join("/")) }
}

/// Without percent-encoding; `%` that begins none is itself.
fn decoded(part: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after.get(..2).filter(|_| *first == b'%').and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = pair.filter(|pair| pair.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match byte.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| "is no UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_below_the_root_is_tidied() {
        assert_eq!(
            below_root("pool/main/a/a_1+b~c_arm64.deb"),
            Ok("pool/main/a/a_1+b~c_arm64.deb".to_owned())
        );
        assert_eq!(below_root("./a//b%2f..deb"), Ok("a/b%2f..deb".to_owned()));
    }

    #[test]
    fn what_leaves_the_root_is_refused() {
        for path in [
            "",
            ".",
            "/etc/passwd",
            "../a",
            "a/../b",
            "a/../../b",
            "a/..",
            "https://elsewhere/a.deb",
            "file:///etc/passwd",
            "a\\..\\b",
            "a\0b",
            "a\nb",
        ] {
            assert!(below_root(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn links_are_followed_from_the_folder_of_their_page() {
        let of = |link| linked("simple/numpy", link);
        assert_eq!(of("../../packages/a%2Bb.whl#sha256=0"), Ok("packages/a+b.whl".to_owned()));
        assert_eq!(of("a.whl?token=1"), Ok("simple/numpy/a.whl".to_owned()));
        assert_eq!(of("/packages/a.whl"), Ok("packages/a.whl".to_owned()));
        assert_eq!(of("https://host/a%2Bb.whl?x=1#sha256=0"), Ok("https://host/a%2Bb.whl?x=1".to_owned()));
        assert_eq!(of("100%.whl"), Ok("simple/numpy/100%.whl".to_owned()));
    }

    #[test]
    fn links_that_lead_elsewhere_are_refused() {
        for link in [
            "",
            "#a",
            "../../../etc/passwd",
            "%2e%2e/%2e%2e/%2E%2e/etc/passwd",
            "..%2f..%2f..%2fetc",
            "a%00b",
            "file:///etc/passwd",
            "FILE:/etc/passwd",
            "data:,x",
            "//host/a.whl",
            "https://",
            "https:///a",
            "http://a b/",
            "https://host\\@other/a",
            "ftp://host/a",
            "javascript:a",
            "%ff.whl",
        ] {
            assert!(linked("simple/numpy", link).is_err(), "{link:?}: {:?}", linked("simple/numpy", link));
        }
    }

    #[test]
    fn the_name_of_a_file_is_the_last_part_of_its_link() {
        assert_eq!(file_name("https://host/p/a%2B1.whl?x=/y#sha256=/"), Ok("a+1.whl".to_owned()));
        assert_eq!(file_name("a.whl"), Ok("a.whl".to_owned()));
    }
}

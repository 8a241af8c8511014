//! A benchmark's name and its parts: `Encode/format=json-48` is `Encode`, `/format=json` and `-48`.
//!
//! In: the name without `Benchmark`. Out: parts with the mark that each begins with, the value of a key, or
//! the name without keys that other projections show.

/// The base name, and the parts after it with the mark that each begins with.
pub(super) fn parts(name: &str) -> (&str, Vec<&str>) {
    let (rest, processors) = without_processors(name);
    let base_end = rest.find('/').unwrap_or(rest.len());
    let (base, mut rest) = rest.split_at_checked(base_end).unwrap_or((rest, ""));
    let mut parts = Vec::new();
    while !rest.is_empty() {
        // The first byte is the mark of this part.
        let end = rest.char_indices().skip(1).find(|(_, c)| *c == '/').map_or(rest.len(), |(at, _)| at);
        let Some((part, after)) = rest.split_at_checked(end) else { break };
        parts.push(part);
        rest = after;
    }
    parts.extend(processors);
    (base, parts)
}

/// The base name alone.
pub(super) fn base(name: &str) -> &str {
    match name.split_once('/') {
        Some((base, _)) => base,
        None => without_processors(name).0,
    }
}

/// Splits off `-8`, the number of processors.
fn without_processors(name: &str) -> (&str, Option<&str>) {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let cut = name.len().saturating_sub(digits + 1);
    match name.split_at_checked(cut) {
        Some((rest, processors)) if digits > 0 && processors.starts_with('-') => (rest, Some(processors)),
        _ => (name, None),
    }
}

/// The value of `/key=…` in the name, `key` with its slash; `/gomaxprocs` is also the number at the end.
pub(super) fn value<'a>(name: &'a str, key: &str) -> Option<&'a str> {
    let parts = parts(name).1;
    if key == "/gomaxprocs"
        && let Some(processors) = parts.last().and_then(|part| part.strip_prefix('-'))
    {
        return Some(processors);
    }
    parts.iter().find_map(|part| part.strip_prefix(key)?.strip_prefix('='))
}

/// The whole name without what other projections already show: `exclude` has `.name` and `/key`s.
pub(super) fn without(name: &str, exclude: &[String]) -> String {
    if exclude.is_empty() {
        return name.to_owned();
    }
    let (base, parts) = parts(name);
    let excluded = |part: &&str| {
        exclude.iter().any(|key| match part.strip_prefix('-') {
            Some(_) => key == "/gomaxprocs",
            None => part.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('=')),
        })
    };
    let base = if exclude.iter().any(|key| key == ".name") { "*" } else { base };
    std::iter::once(base).chain(parts.into_iter().filter(|part| !excluded(part))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart_and_together() {
        assert_eq!(parts("Encode/format=json-48"), ("Encode", vec!["/format=json", "-48"]));
        assert_eq!(parts("Encode-48"), ("Encode", vec!["-48"]));
        assert_eq!(parts("A/b//c-"), ("A", vec!["/b", "/", "/c-"]));
        assert_eq!(parts(""), ("", vec![]));
        assert_eq!(base("Encode-48"), "Encode");
        assert_eq!(value("E/size=4kB/align=0-8", "/align"), Some("0"));
        assert_eq!(value("E/size=4kB/align=0-8", "/gomaxprocs"), Some("8"));
        assert_eq!(value("E/sizes=4", "/size"), None);
        let exclude = ["/size".to_owned(), "/gomaxprocs".to_owned()];
        assert_eq!(without("E/size=4kB/align=0-8", &exclude), "E/align=0");
        assert_eq!(without("E/x", &[".name".to_owned()]), "*/x");
    }
}

//! Fields of comma-separated values (RFC 4180).

/// In quotes where a comma, a quote or a line's end demands it.
pub(crate) fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_in_quotes_where_it_needs_them() {
        assert_eq!(["a b", "a,\"b\"", "a\nb"].map(quoted), ["a b", "\"a,\"\"b\"\"\"", "\"a\nb\""]);
    }
}

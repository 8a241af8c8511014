//! Names of projects: PEP 508 and PEP 503.

/// PEP 503: lower case, and one `-` for all runs of `-`, `_` and `.`.
pub(super) fn normalised(name: &str) -> String {
    let mut normalised = String::with_capacity(name.len());
    for c in name.chars().map(|c| c.to_ascii_lowercase()) {
        match c {
            '-' | '_' | '.' if normalised.ends_with('-') => {}
            '-' | '_' | '.' => normalised.push('-'),
            c => normalised.push(c),
        }
    }
    normalised
}

/// PEP 508: letters, digits, and `.`, `-`, `_` between them.
pub(super) fn is_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let ends = [name.bytes().next(), name.bytes().last()];
    ends.iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric())) && name.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_normalised() {
        for name in ["friendly-bard", "Friendly-Bard", "FRIENDLY.bard", "friendly_bard", "FrIeNdLy-._.-bArD"]
        {
            assert_eq!(normalised(name), "friendly-bard", "{name}");
        }
    }

    #[test]
    fn what_is_no_name_is_not_asked_for() {
        assert!(is_name("a") && is_name("zope.interface") && is_name("A_1"));
        for name in ["", "-a", "a-", "a/b", "..", "a b", "a?b", "ü", "a\n"] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}

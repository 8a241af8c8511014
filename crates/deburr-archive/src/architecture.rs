//! Names of architectures: Debian and Go say `arm64` and `amd64`, RPM and Python `aarch64` and `x86_64`.

/// Whether two names are of one architecture.
pub(crate) fn same(one: &str, other: &str) -> bool {
    canonical(one) == canonical(other)
}

/// Whether an architecture is among those that are wanted; all are where none is named. `all` and `noarch` are names like the others.
pub(crate) fn is_wanted(wanted: &[String], architecture: &str) -> bool {
    wanted.is_empty() || wanted.iter().any(|wanted| same(wanted, architecture))
}

fn canonical(name: &str) -> &str {
    match name {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_architecture_has_two_names_and_two_architectures_have_not_one() {
        assert!(same("arm64", "aarch64") && same("x86_64", "amd64") && same("s390x", "s390x"));
        assert!(!same("arm64", "armhf") && !same("x86_64", "x32") && !same("all", "any"));
    }
}

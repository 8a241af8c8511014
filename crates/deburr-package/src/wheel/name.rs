//! The name of a wheel's file, in parts (binary distribution format, "File name convention"; PEP 825, "Variant label").
//!
//! In: a file name. Out: its parts as they are written, and the names of the files that belong next to it.

/// The parts of a wheel's file name, as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelName {
    /// `scikit_learn`.
    pub project: String,
    /// `1.0`.
    pub version: String,
    /// Between version and tags: `1`, `2b`.
    pub build: Option<String>,
    /// The tags of interpreter, interface and platform: `cp312-cp312-linux_x86_64`.
    pub tags: [String; 3],
    /// The label of a variant.
    pub label: Option<String>,
}

impl WheelName {
    /// Reads a file name; `None` where it is not the name of a wheel.
    pub fn parse(name: &str) -> Option<WheelName> {
        let parts: Vec<&str> = name.strip_suffix(".whl")?.split('-').collect();
        let has_build = parts.get(2)?.starts_with(|first: char| first.is_ascii_digit());
        let tags_at = if has_build { 3 } else { 2 };
        let [project, version] = parts.get(..2)? else { return None };
        let [python, abi, platform] = parts.get(tags_at..tags_at + 3)? else { return None };
        let label = match parts.get(tags_at + 3..)? {
            [] => None,
            [label] => Some((*label).to_owned()),
            _ => return None,
        };
        let is_part = |part: &&str| {
            let is_of_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._+!".contains(&byte);
            !part.is_empty() && part.bytes().all(is_of_part)
        };
        if !parts.iter().all(is_part) || !version.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        Some(WheelName {
            project: (*project).to_owned(),
            version: (*version).to_owned(),
            build: has_build.then(|| parts.get(2).map_or_else(String::new, |build| (*build).to_owned())),
            tags: [python, abi, platform].map(|tag| (*tag).to_owned()),
            label,
        })
    }

    /// The file name with another label, or with none.
    pub fn with_label(&self, label: Option<&str>) -> String {
        let mut parts = vec![self.project.as_str(), &self.version];
        parts.extend(self.build.as_deref());
        parts.extend(self.tags.iter().map(String::as_str));
        parts.extend(label);
        parts.join("-") + ".whl"
    }

    /// The name of the index of the variants of this version (PEP 825, "Index-level metadata").
    pub fn index(&self) -> String {
        format!("{}-{}-variants.json", normalised(&self.project), self.version)
    }
}

/// A project's name as file names have it: lower case, with one `_` for each run of separators.
pub(super) fn normalised(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '-' | '_' | '.' if normal.ends_with('_') => {}
            '-' | '_' | '.' => normal.push('_'),
            letter => normal.extend(letter.to_lowercase()),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_and_written_as_it_was() {
        for name in [
            "x-1.0-py3-none-any.whl",
            "Zope.interface-6.0-2b-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            "x-1!2.0+local-cp312-abi3-musllinux_1_2_aarch64-x86_64_v3.whl",
        ] {
            let parts = WheelName::parse(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(parts.with_label(parts.label.as_deref()), name);
        }
    }

    #[test]
    fn the_label_comes_after_the_platform_and_the_build_before_the_tags() {
        let name = WheelName::parse("x-1.0-1-cp311-cp311-linux_x86_64-null.whl").unwrap();
        assert_eq!((name.build.as_deref(), name.label.as_deref()), (Some("1"), Some("null")));
        assert_eq!(name.with_label(None), "x-1.0-1-cp311-cp311-linux_x86_64.whl");
        assert_eq!(name.with_label(Some("x86_64_v3")), "x-1.0-1-cp311-cp311-linux_x86_64-x86_64_v3.whl");
    }

    #[test]
    fn the_index_has_the_normal_name_of_the_project() {
        let name = WheelName::parse("Zope.-Interface-6.0-cp312-cp312-linux_x86_64.whl");
        assert_eq!(name, None);
        let name = WheelName::parse("Zope._Interface-6.0-cp312-cp312-linux_x86_64.whl").unwrap();
        assert_eq!(name.index(), "zope_interface-6.0-variants.json");
    }

    #[test]
    fn what_is_no_name_of_a_wheel_is_none() {
        for name in [
            "",
            ".whl",
            "x.whl",
            "x-1.whl",
            "x-1.0.tar.gz",
            "x-1.0-py3-none.whl",
            "x-one-py3-none-any.whl",
            "x-1.0-py3-none-any-a-b.whl",
            "x-1.0-py3-none-any-.whl",
            "x-1.0--none-any.whl",
            "../x-1.0-py3-none-any.whl",
            "x-1.0-py3-none-a/b.whl",
            "x-1.0-py3-none-a b.whl",
        ] {
            assert_eq!(WheelName::parse(name), None, "{name}");
        }
    }
}

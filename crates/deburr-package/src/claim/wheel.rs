//! Wheels: platform tags (the binary distribution format, "File name convention"; `Tag` of `WHEEL`), and the properties
//! of variants (PEP 825: `variant.json` in the folder `.dist-info`, by the providers of namespaces `x86_64` and `aarch64`; the
//! label of a variant in the file name says nothing by itself).

use super::identity::Identity;
use super::members::of_zip;
use super::statement::{Machines, Statement, Systems};
use crate::codec::meter::Meter;
use serde_json::Value;
use std::rc::Rc;

/// Whether a member is a file of the wheel's metadata.
fn in_metadata(name: &str, file: &str) -> bool {
    name.split_once('/').is_some_and(|(folder, rest)| folder.ends_with(".dist-info") && rest == file)
}

/// What a wheel is, by `METADATA` (the core metadata specification) and `WHEEL`. Its files have dates of their own, and the
/// wheel has none.
pub(super) fn identity(path: &str, bytes: &[u8], meter: &Rc<Meter>) -> Identity {
    let members = of_zip(bytes, meter, |name| in_metadata(name, "WHEEL") || in_metadata(name, "METADATA"));
    let of = |file: &str| members.iter().find(|(name, _)| name.ends_with(file)).map(|(_, content)| content);
    let Some(wheel) = of("/WHEEL") else { return Identity::default() };
    let wheel = String::from_utf8_lossy(wheel);
    let tag = wheel.lines().find_map(|line| line.strip_prefix("Tag:")?.trim().rsplit('-').next());
    let metadata = of("/METADATA").map(|metadata| String::from_utf8_lossy(metadata));
    // The fields end where the description begins.
    let fields = metadata.iter().flat_map(|metadata| metadata.lines().take_while(|line| !line.is_empty()));
    let fields: Vec<(&str, &str)> = fields.filter_map(|line| line.split_once(':')).collect();
    let field = |name: &str| {
        let found = fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim().to_owned())
    };
    Identity {
        name: field("Name"),
        version: field("Version"),
        architecture: platforms_of_name(path).or(tag).map(str::to_owned),
        built: None,
    }
}

/// The statements of a wheel; none of another zip file.
pub(super) fn statements(path: &str, bytes: &[u8], meter: &Rc<Meter>) -> Vec<Statement> {
    let members =
        of_zip(bytes, meter, |name| in_metadata(name, "WHEEL") || in_metadata(name, "variant.json"));
    let of = |file: &str| members.iter().find(|(name, _)| name.ends_with(file)).map(|(_, content)| content);
    let Some(wheel) = of("/WHEEL") else { return Vec::new() };
    let mut statements: Vec<Statement> =
        platforms_of_name(path).map(|tag| of_tag(tag, "the file name")).into_iter().collect();
    for statement in &mut statements {
        statement.systems.pythons = pythons_of_name(path).unwrap_or(0);
    }
    let wheel = String::from_utf8_lossy(wheel);
    let tags = wheel.lines().filter_map(|line| line.strip_prefix("Tag:")?.trim().rsplit('-').next());
    for tag in tags {
        let statement = of_tag(tag, "WHEEL");
        if !statements.contains(&statement) {
            statements.push(statement);
        }
    }
    if let Some(variant) = of("/variant.json") {
        statements.extend(of_variant(variant));
    }
    statements
}

/// The platform tags in a file name; `None` of another name. After them may be the label of a variant.
fn platforms_of_name(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?.strip_suffix(".whl")?;
    let parts: Vec<&str> = name.split('-').collect();
    let is_python = |part: &str| {
        ["py", "cp", "pp"].iter().any(|kind| part.starts_with(kind))
            && part.contains(|c: char| c.is_ascii_digit())
    };
    // A build number may be between the version and the tag of Python.
    let python = (2..=3).find(|at| parts.get(*at).is_some_and(|part| is_python(part)))?;
    parts.get(python + 2).copied()
}

/// The versions of CPython 3 that a file name is for, as bits: by the tags `cp311-cp311`, or `cp38-abi3` and all later ones.
fn pythons_of_name(path: &str) -> Option<u32> {
    let name = path.rsplit('/').next()?.strip_suffix(".whl")?;
    let parts: Vec<&str> = name.split('-').collect();
    let platform = parts.iter().position(|part| Some(*part) == platforms_of_name(path))?;
    let (python, abi) = (parts.get(platform.checked_sub(2)?)?, parts.get(platform.checked_sub(1)?)?);
    let minors = python.split('.').filter_map(|tag| tag.strip_prefix("cp3")?.parse::<u32>().ok());
    let is_stable = abi.split('.').any(|abi| abi == "abi3");
    let is_for = |minor: u32| {
        abi.split('.').any(|abi| [format!("cp3{minor}"), format!("cp3{minor}m")].contains(&abi.to_owned()))
    };
    let bits = minors.filter(|&minor| minor < u32::BITS).map(|minor| match is_stable {
        true => u32::MAX << minor,
        false if is_for(minor) => 1 << minor,
        false => 0,
    });
    Some(bits.fold(0, |all, bits| all | bits))
}

/// A platform tag, or several joined by dots.
fn of_tag(tags: &str, place: &str) -> Statement {
    let mut machines: Option<Machines> = None;
    for tag in tags.split('.') {
        let found = of_platform(tag);
        machines = match machines {
            Some(before) if before != found => Some(Machines::Unknown),
            _ => Some(found),
        };
    }
    let systems = tags.split('.').map(|tag| {
        let (largest_page, oldest_glibc) = (largest_page(tag), oldest_glibc(tag));
        Systems { largest_page, oldest_glibc, pythons: 0 }
    });
    let systems = systems.fold(Systems::default(), Systems::and);
    let statement = Statement::new(place, format!("platform {tags}"), machines.unwrap_or(Machines::Unknown));
    Statement { systems, ..statement }
}

/// The largest pages, in bytes, of systems that a platform tag includes: RHEL 7 and 8 for AArch64, with glibc 2.17 and 2.28, have 64 KiB
/// ("Considerations in adopting RHEL 9", "Kernel": 4 KiB since then).
fn largest_page(tag: &str) -> Option<u64> {
    /// The minor version of RHEL 8's glibc.
    const GLIBC_OF_RHEL_8: u32 = 28;
    let is_for_it = tag.ends_with("_aarch64") && oldest_glibc(tag)? <= (2, GLIBC_OF_RHEL_8);
    is_for_it.then_some(1 << 16)
}

/// The oldest glibc of a platform tag (PEP 600 and what it names the earlier tags).
fn oldest_glibc(tag: &str) -> Option<(u32, u32)> {
    let rest = tag.strip_prefix("manylinux")?;
    let Some(rest) = rest.strip_prefix('_') else {
        let minor = match rest.split('_').next()? {
            "1" => 5,
            "2010" => 12,
            "2014" => 17,
            _ => return None,
        };
        return Some((2, minor));
    };
    let (major, rest) = rest.split_once('_')?;
    let (minor, _) = rest.split_once('_')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn of_platform(tag: &str) -> Machines {
    if tag == "any" {
        return Machines::Any;
    }
    let is_linux = ["linux_", "manylinux", "musllinux"].iter().any(|system| tag.starts_with(system));
    match tag {
        _ if !is_linux => Machines::Elsewhere,
        _ if tag.ends_with("_x86_64") => Machines::Level("x86-64".to_owned()),
        _ if tag.ends_with("_aarch64") => Machines::Level("armv8.0-a".to_owned()),
        _ => Machines::Elsewhere,
    }
}

/// The properties of the one variant that a wheel is.
fn of_variant(document: &[u8]) -> Option<Statement> {
    const PLACE: &str = "variant.json";
    let unknown = |text: &str| Some(Statement::new(PLACE, text.to_owned(), Machines::Unknown).refining());
    let Ok(document) = serde_json::from_slice::<Value>(document) else { return unknown("no JSON") };
    let Some(variants) = document.get("variants").and_then(Value::as_object) else {
        return unknown("no variants");
    };
    let mut variants = variants.iter();
    let (Some((label, properties)), None) = (variants.next(), variants.next()) else {
        return unknown("several variants, or none");
    };
    let mut levels = Vec::new();
    let mut texts = Vec::new();
    for namespace in ["x86_64", "aarch64"] {
        let Some(features) = properties.get(namespace).and_then(Value::as_object) else { continue };
        let mut level = if namespace == "x86_64" { "x86-64".to_owned() } else { "armv8.0-a".to_owned() };
        let mut extensions = String::new();
        for (feature, values) in features {
            let values: Vec<&str> = match values {
                Value::String(value) => vec![value],
                Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            let [value] = values.as_slice() else {
                return unknown(&format!("{label}: {namespace} :: {feature}"));
            };
            texts.push(format!("{namespace} :: {feature} :: {value}"));
            match (namespace, feature.as_str()) {
                ("x86_64", "level") => match level_of(value) {
                    Some(found) => level = found,
                    None => return unknown(&texts.join(", ")),
                },
                ("aarch64", "version") => match version_of(value) {
                    Some(found) => level = found,
                    None => return unknown(&texts.join(", ")),
                },
                (_, extension) if *value == "on" => {
                    extensions.push('+');
                    extensions.push_str(extension_of(extension));
                }
                _ => return unknown(&texts.join(", ")),
            }
        }
        levels.push(level + &extensions);
    }
    match levels.as_slice() {
        // Of other things, as a GPU, or of nothing: the null variant.
        [] => None,
        [level] => Some(Statement::new(PLACE, texts.join(", "), Machines::Level(level.clone())).refining()),
        _ => unknown(&texts.join(", ")),
    }
}

/// `v3`, or `3` as earlier tools wrote it.
fn level_of(value: &str) -> Option<String> {
    match value.strip_prefix('v').unwrap_or(value) {
        "1" => Some("x86-64".to_owned()),
        level @ ("2" | "3" | "4") => Some(format!("x86-64-v{level}")),
        _ => None,
    }
}

/// `8.2a`; `8a` is the first.
fn version_of(value: &str) -> Option<String> {
    let version = value.strip_suffix('a')?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let is_known = matches!(major, "8" | "9") && minor.parse::<u8>().is_ok_and(|minor| minor <= 9);
    is_known.then(|| format!("armv{major}.{minor}-a"))
}

/// An extension by gcc's name; the providers call them as Linux and archspec do.
fn extension_of(name: &str) -> &str {
    match name {
        "asimdhp" | "fphp" => "fp16",
        "asimddp" => "dotprod",
        "asimdrdm" => "rdma",
        "atomics" => "lse",
        "crc32" => "crc",
        "lrcpc" => "rcpc",
        "asimdfhm" => "fp16fml",
        "sha_ni" => "sha",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn level(name: &str) -> Machines {
        Machines::Level(name.to_owned())
    }

    #[test]
    fn platform_tags_are_found_in_file_names() {
        for (name, tag) in [
            (
                "/a/numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
                Some("manylinux_2_17_x86_64.manylinux2014_x86_64"),
            ),
            ("x-1.0-1-py3-none-any.whl", Some("any")),
            ("x-1.0-cp312-abi3-musllinux_1_2_aarch64-v3label.whl", Some("musllinux_1_2_aarch64")),
            ("x.zip", None),
            ("x-1.0.whl", None),
        ] {
            assert_eq!(platforms_of_name(name), tag, "{name}");
        }
    }

    #[test]
    fn tags_are_levels() {
        let of = |tags| of_tag(tags, "here").machines;
        assert_eq!(of("manylinux_2_17_x86_64.manylinux2014_x86_64"), level("x86-64"));
        assert_eq!(of("musllinux_1_2_aarch64"), level("armv8.0-a"));
        assert_eq!(
            (of("any"), of("macosx_11_0_arm64"), of("linux_armv7l")),
            (Machines::Any, Machines::Elsewhere, Machines::Elsewhere)
        );
        assert_eq!(of("linux_x86_64.linux_aarch64"), Machines::Unknown);
    }

    fn of(properties: Value) -> Option<Machines> {
        let document = json!({"variants": {"label": properties}});
        of_variant(document.to_string().as_bytes()).map(|statement| statement.machines)
    }

    #[test]
    fn properties_of_a_variant_are_levels_and_extensions() {
        assert_eq!(of(json!({"x86_64": {"level": ["v3"]}})), Some(level("x86-64-v3")));
        assert_eq!(of(json!({"x86_64": {"level": ["v2"], "avx2": ["on"]}})), Some(level("x86-64-v2+avx2")));
        assert_eq!(
            of(json!({"aarch64": {"version": ["8.2a"], "asimddp": ["on"]}})),
            Some(level("armv8.2-a+dotprod"))
        );
        assert_eq!(of(json!({"x86_64": {"sha_ni": ["on"]}})), Some(level("x86-64+sha")));
        assert_eq!(of(json!({"aarch64": {"version": ["8a"]}})), Some(level("armv8.0-a")));
        assert_eq!((of(json!({"nvidia": {"cuda": ["12"]}})), of(json!({}))), (None, None));
    }

    #[test]
    fn a_tag_that_includes_rhel_8_for_aarch64_is_for_pages_of_64_kib() {
        let page = |tags: &str| of_tag(tags, "here").systems.largest_page;
        assert_eq!(page("manylinux_2_17_aarch64.manylinux2014_aarch64"), Some(1 << 16));
        assert_eq!(page("manylinux_2_28_aarch64"), Some(1 << 16));
        assert_eq!(page("manylinux_2_31_aarch64"), None);
        assert_eq!(page("manylinux_2_17_x86_64"), None);
        assert_eq!(page("musllinux_1_2_aarch64"), None);
        assert_eq!(page("linux_aarch64"), None);
    }

    #[test]
    fn a_tag_promises_the_oldest_glibc_that_it_names() {
        let glibc = |tags: &str| of_tag(tags, "here").systems.oldest_glibc;
        assert_eq!(glibc("manylinux_2_17_x86_64.manylinux2014_x86_64"), Some((2, 17)));
        assert_eq!(glibc("manylinux_2_28_x86_64.manylinux_2_27_x86_64"), Some((2, 27)));
        assert_eq!(
            (glibc("manylinux1_x86_64"), glibc("manylinux2010_x86_64")),
            (Some((2, 5)), Some((2, 12)))
        );
        for tag in [
            "musllinux_1_2_x86_64",
            "linux_x86_64",
            "manylinux",
            "manylinux_2",
            "manylinux_x_y_x86_64",
            "any",
        ] {
            assert_eq!(glibc(tag), None, "{tag}");
        }
    }

    #[test]
    fn tags_of_python_are_the_versions_that_load_a_module() {
        for (name, expected) in [
            ("a/x-1.0-cp311-cp311-manylinux_2_17_x86_64.whl", Some(1 << 11)),
            ("x-1.0-1-cp37-cp37m-manylinux1_x86_64.whl", Some(1 << 7)),
            ("x-1.0-cp38.cp39-cp38.cp39-linux_x86_64.whl", Some(1 << 8 | 1 << 9)),
            ("x-1.0-cp30-abi3-linux_x86_64.whl", Some(u32::MAX)),
            ("x-1.0-cp38-abi3-linux_x86_64.whl", Some(u32::MAX << 8)),
            // Without the global lock, another interface; of none, or of all.
            ("x-1.0-cp313-cp313t-linux_x86_64.whl", Some(0)),
            ("x-1.0-pp39-pypy39_pp73-linux_x86_64.whl", Some(0)),
            ("x-1.0-py3-none-manylinux1_x86_64.whl", Some(0)),
            ("x-1.0-cp399-abi3-linux_x86_64.whl", Some(0)),
            ("x-1.0.whl", None),
            ("x.zip", None),
        ] {
            assert_eq!(pythons_of_name(name), expected, "{name}");
        }
    }

    #[test]
    fn what_is_not_understood_of_a_variant_is_no_level() {
        for properties in [
            json!({"x86_64": {"level": ["v9"]}}),
            json!({"x86_64": {"level": ["v2", "v3"]}}),
            json!({"x86_64": {"avx2": ["off"]}}),
            json!({"aarch64": {"version": ["8.xa"]}}),
            json!({"x86_64": {"level": ["v2"]}, "aarch64": {"version": ["8.1a"]}}),
        ] {
            assert_eq!(of(properties.clone()), Some(Machines::Unknown), "{properties}");
        }
        for document in ["", "{", "[]", "{\"variants\": {}}", "{\"variants\": {\"a\": {}, \"b\": {}}}"] {
            assert_eq!(
                of_variant(document.as_bytes()).map(|it| it.machines),
                Some(Machines::Unknown),
                "{document}"
            );
        }
    }
}

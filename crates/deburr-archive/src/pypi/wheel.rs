//! The name of a wheel: the binary distribution format, "File name convention"; platform compatibility tags.

use super::name::normalised;
use crate::version::Pep440;
use std::cmp::Reverse;

/// What a wheel's name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wheel {
    /// Normalised.
    pub(super) project: String,
    /// As it is written.
    pub(super) version: String,
    pub(super) order: Pep440,
    /// `x86_64`, `aarch64`, `any`; several are joined by dots. Empty where no platform is Linux's.
    pub(super) architecture: String,
    /// Wheels with the same one are the same program for other interpreters: the kind of interpreter, the platforms, and the label of
    /// a variant.
    pub(super) family: String,
    /// The order within a family: the newest interpreter, that which has no `t` for "free-threaded" before that which has, the latest
    /// build.
    pub(super) rank: (Vec<u64>, Reverse<bool>, u64),
}

impl Wheel {
    /// `None` where the name is none of a wheel.
    pub(super) fn parse(name: &str) -> Option<Wheel> {
        let parts: Vec<&str> = name.strip_suffix(".whl")?.split('-').collect();
        // A build number may be between the version and the tag of Python, the label of a variant after the platforms.
        let python_at = match parts.get(2)?.bytes().next()? {
            byte if byte.is_ascii_digit() => 3,
            _ => 2,
        };
        let [python, abi, platforms] = parts.get(python_at..python_at + 3)? else { return None };
        let label = match parts.get(python_at + 3..)? {
            [] => "",
            [label] => label,
            _ => return None,
        };
        let build = if python_at == 3 { parts.get(2)? } else { "0" };
        let build = build.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
        let is_tag = |tag: &&&str| !tag.is_empty() && tag.bytes().all(is_of_tag);
        if ![python, abi, platforms].iter().all(is_tag) || !label.bytes().all(is_of_tag) {
            return None;
        }
        let (kind, interpreter) = interpreter(python)?;
        let version = parts.get(1)?;
        Some(Wheel {
            project: normalised(parts.first()?),
            version: (*version).to_owned(),
            order: Pep440::parse(version)?,
            architecture: architectures(platforms),
            family: format!("{kind}-{platforms}-{label}"),
            rank: (interpreter, Reverse(is_free_threaded(abi)), build),
        })
    }
}

fn is_of_tag(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._".contains(&byte)
}

/// The kind of interpreter and its version, the newest of several: `cp312` is of kind `cp` and has the version 3.12.
fn interpreter(tags: &str) -> Option<(&str, Vec<u64>)> {
    let of = |tag| -> Option<(&str, Vec<u64>)> {
        let end = str::find(tag, |c: char| c.is_ascii_digit())?;
        let (kind, version) = tag.split_at_checked(end)?;
        let (major, minor) = version.split_at_checked(1)?;
        let mut numbers = vec![major.parse().ok()?];
        for number in minor.split('_').filter(|number| !number.is_empty()) {
            numbers.push(number.parse().ok()?);
        }
        (!kind.is_empty()).then_some((kind, numbers))
    };
    let tags: Option<Vec<_>> = tags.split('.').map(of).collect();
    tags?.into_iter().max_by(|one, other| one.1.cmp(&other.1))
}

/// `cp313t`
fn is_free_threaded(abi: &str) -> bool {
    abi.strip_suffix('t').is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_digit()))
}

/// The architectures of platform tags, each once, joined by dots.
fn architectures(platforms: &str) -> String {
    let mut found: Vec<&str> = Vec::new();
    for architecture in platforms.split('.').filter_map(architecture) {
        if !found.contains(&architecture) {
            found.push(architecture);
        }
    }
    found.join(".")
}

/// The architecture of a platform that runs ELF files: `manylinux_2_17_x86_64`, `musllinux_1_2_aarch64`, `android_21_arm64_v8a`.
fn architecture(platform: &str) -> Option<&str> {
    if platform == "any" {
        return Some("any");
    }
    let (system, mut rest) = platform.split_once('_')?;
    let years =
        ["linux", "manylinux", "manylinux1", "manylinux2010", "manylinux2014", "musllinux", "android"];
    if !years.contains(&system) {
        return None;
    }
    while let Some((number, after)) = rest.split_once('_')
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        rest = after;
    }
    match rest {
        "arm64_v8a" => Some("aarch64"),
        "armeabi_v7a" => Some("armv7l"),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Wheel {
        Wheel::parse(name).unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn the_parts_of_a_name_are_found() {
        let wheel = of("Zope.interface-6.0-2b-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl");
        assert_eq!((wheel.project.as_str(), wheel.version.as_str()), ("zope-interface", "6.0"));
        assert_eq!(wheel.architecture, "x86_64");
        assert_eq!(wheel.rank, (vec![3, 12], Reverse(false), 2));
        assert_eq!(of("x-1.0-cp312-abi3-musllinux_1_2_aarch64-v3.whl").family, "cp-musllinux_1_2_aarch64-v3");
    }

    #[test]
    fn the_architecture_is_that_of_a_platform_with_elf_files() {
        for (platform, architecture) in [
            ("any", "any"),
            ("linux_x86_64", "x86_64"),
            ("manylinux1_i686", "i686"),
            ("manylinux2014_aarch64", "aarch64"),
            ("manylinux_2_17_x86_64.manylinux2014_x86_64", "x86_64"),
            ("linux_x86_64.linux_aarch64", "x86_64.aarch64"),
            ("musllinux_1_2_ppc64le", "ppc64le"),
            ("android_21_arm64_v8a", "aarch64"),
            ("macosx_11_0_arm64", ""),
            ("macosx_10_9_universal2", ""),
            ("win_amd64", ""),
            ("win32", ""),
            ("pyodide_2024_0_wasm32", ""),
            ("manylinux", ""),
        ] {
            assert_eq!(of(&format!("x-1-cp39-abi3-{platform}.whl")).architecture, architecture, "{platform}");
        }
    }

    #[test]
    fn newer_interpreters_rank_higher_within_their_kind() {
        let of = |tags: &str| of(&format!("x-1-{tags}-linux_x86_64.whl"));
        let sorted = ["cp39-cp39", "cp310-cp310", "cp312-abi3", "cp313-cp313t", "cp313-cp313"];
        assert!(sorted.windows(2).all(|pair| of(pair[0]).rank < of(pair[1]).rank));
        assert!(of("1-cp313-cp313").rank < of("2-cp313-cp313").rank);
        assert_eq!(of("cp310.cp311-abi3").rank, of("cp311-abi3").rank);
        assert_eq!(of("py2.py3-none").rank.0, [3]);
        assert_ne!(of("pp310-pypy310_pp73").family, of("cp310-cp310").family);
    }

    #[test]
    fn what_is_no_wheel_is_none() {
        for name in [
            "",
            ".whl",
            "x.whl",
            "x-1.whl",
            "x-1.tar.gz",
            "x-1-py3-none.whl",
            "x-one-py3-none-any.whl",
            "x-1-py3-none-any-a-b.whl",
            "x-1-1-py3-none-any-a-b.whl",
            "x-1-py-none-any.whl",
            "x-1--none-any.whl",
            "x-1-py3-none-a/b.whl",
            "x-1-99999999999999999999999-py3-none-any.whl",
            "x-1-py3-none-any.whl.asc",
        ] {
            assert!(Wheel::parse(name).is_none(), "{name}");
        }
    }
}

//! Debian packages: deb-control(5), `Architecture`, and `Architecture-Variant` (dpkg 1.23, Ubuntu 25.10). A dependency on a package of
//! the source `isa-support` (`sse4.2-support`) says that the package is for CPUs with that extension: it cannot be installed on others.

use super::identity::Identity;
use super::members::of_tar;
use super::statement::{Machines, Statement};
use crate::codec::decode::decoded;
use crate::codec::meter::Meter;
use crate::sniff::{Codec, Found, sniff};
use std::rc::Rc;

const PLACE: &str = "control";

/// The statements of a Debian package.
pub(super) fn statements(bytes: &[u8], meter: &Rc<Meter>) -> Vec<Statement> {
    let Some(control) = control(bytes, meter) else { return Vec::new() };
    let architecture = field(&control, "Architecture").map(|architecture| {
        Statement::new(PLACE, format!("Architecture: {architecture}"), of_architecture(&architecture))
    });
    architecture.into_iter().chain(refined(&control)).collect()
}

/// What refines the architecture: its variant, with the extensions that the package depends on.
fn refined(control: &str) -> Option<Statement> {
    let variant = field(control, "Architecture-Variant");
    let supports: Vec<(String, String)> = ["Pre-Depends", "Depends"]
        .into_iter()
        .filter_map(|name| field(control, name))
        .flat_map(|list| supported(&list))
        .collect();
    let amd64 = || field(control, "Architecture").filter(|name| name == "amd64").map(|_| "x86-64".to_owned());
    let machines = match (&variant, supports.as_slice()) {
        (None, []) => return None,
        (Some(variant), []) => of_variant(variant),
        (variant, _) => {
            let general = match variant {
                Some(variant) => of_variant(variant),
                None => Machines::Level(amd64()?),
            };
            match general {
                Machines::Level(general) => Machines::Level(
                    supports.iter().fold(general, |level, (_, extension)| with(level, extension)),
                ),
                other => other,
            }
        }
    };
    let variant = variant.map(|variant| format!("Architecture-Variant: {variant}"));
    let texts =
        variant.into_iter().chain(supports.iter().map(|(package, _)| format!("depends on {package}")));
    Some(Statement::new(PLACE, texts.collect::<Vec<_>>().join(", "), machines).refining())
}

/// A level with what a package of isa-support stands for: an extension, or a level.
fn with(level: String, extension: &str) -> String {
    let base = level.split('+').next().unwrap_or_default().len();
    match extension.starts_with("x86-64-v") {
        // The level replaces the first one; of two the higher one counts, and their names are in that order.
        true if extension > level.get(..base).unwrap_or_default() => {
            format!("{extension}{}", level.get(base..).unwrap_or_default())
        }
        true => level,
        false => format!("{level}+{extension}"),
    }
}

/// The packages of isa-support in a list of dependencies, each with what it stands for. One of several alternatives is none.
fn supported(list: &str) -> Vec<(String, String)> {
    let of_clause = |clause: &str| {
        let package = clause.split(['(', '[', '<', ':']).next().unwrap_or_default().trim();
        let extension = package.strip_suffix("-support").filter(|_| !clause.contains('|'))?;
        let extension = match extension {
            // Every CPU with the one has the other, and compilers add it.
            "sse4.2" => "sse4.2+popcnt",
            "sse3" | "ssse3" | "sse4.1" | "avx" | "avx2" | "x86-64-v2" | "x86-64-v3" | "x86-64-v4" => {
                extension
            }
            _ => return None,
        };
        Some((package.to_owned(), extension.to_owned()))
    };
    list.split(',').filter_map(of_clause).collect()
}

/// What a Debian package is. It was built when the archiver added its control file.
pub(super) fn identity(bytes: &[u8], meter: &Rc<Meter>) -> Identity {
    let Some(control) = control(bytes, meter) else { return Identity::default() };
    let built = member(bytes, b"control.tar").and_then(|(header, _)| decimal(header.get(16..28)?));
    Identity {
        name: field(&control, "Package"),
        version: field(&control, "Version"),
        architecture: field(&control, "Architecture"),
        built: built.and_then(|seconds| seconds.try_into().ok()).filter(|seconds| *seconds > 0),
    }
}

/// The value of a field, with the lines that continue it.
fn field(control: &str, name: &str) -> Option<String> {
    let mut lines = control.lines();
    let of_line = |line: &str| -> Option<String> {
        let (field, value) = line.split_once(':')?;
        field.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    };
    let value = lines.by_ref().find_map(of_line)?;
    let more = lines.take_while(|line| line.starts_with([' ', '\t'])).map(str::trim);
    Some(std::iter::once(value.as_str()).chain(more).collect::<Vec<_>>().join(" "))
}

fn of_architecture(name: &str) -> Machines {
    match name {
        "amd64" => Machines::Level("x86-64".to_owned()),
        "arm64" => Machines::Level("armv8.0-a".to_owned()),
        "all" => Machines::Any,
        _ => Machines::Elsewhere,
    }
}

/// `amd64v3`.
fn of_variant(name: &str) -> Machines {
    match name.strip_prefix("amd64") {
        Some("" | "v1") => Machines::Level("x86-64".to_owned()),
        Some(level @ ("v2" | "v3" | "v4")) => Machines::Level(format!("x86-64-{level}")),
        _ => Machines::Unknown,
    }
}

/// The file `control` of `control.tar.*`.
fn control(bytes: &[u8], meter: &Rc<Meter>) -> Option<String> {
    let (_, member) = member(bytes, b"control.tar")?;
    let codec: Option<Codec> = match sniff(member) {
        Found::Compressed(codec) => Some(codec),
        _ => None,
    };
    let control = of_tar(decoded(codec, member, meter), |name| name == "control", |_| true)?;
    Some(String::from_utf8_lossy(&control).into_owned())
}

/// A number in a header of an ar archive.
fn decimal(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.trim_end().parse().ok()
}

/// The member of an ar archive whose name begins so: its header and its content.
fn member<'a>(bytes: &'a [u8], name: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let mut rest = bytes.get(8..)?;
    loop {
        let header = rest.get(..60)?;
        let size = usize::try_from(decimal(header.get(48..58)?)?).ok()?;
        let content = rest.get(60..60_usize.checked_add(size)?)?;
        if header.starts_with(name) {
            return Some((header, content));
        }
        rest = rest.get(60 + size + size % 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(name: &str) -> Option<Machines> {
        Some(Machines::Level(name.to_owned()))
    }

    #[test]
    fn dependency_on_a_package_of_isa_support_raises_the_claim() {
        let of = |control: &str| refined(control).map(|statement| statement.machines);
        let control =
            |more: &str| format!("Package: x\nArchitecture: amd64\n{more}\nDescription: y\n depends: z\n");
        for (more, expected) in [
            ("Depends: libc6 (>= 2.32), sse4.2-support", "x86-64+sse4.2+popcnt"),
            ("Pre-Depends: sse3-support (>= 15)\nDepends: libc6", "x86-64+sse3"),
            ("Depends: libc6,\n sse4.1-support [amd64],\n libx", "x86-64+sse4.1"),
            ("Architecture-Variant: amd64v3\nDepends: sse3-support", "x86-64-v3+sse3"),
            ("Pre-Depends: sse3-support, x86-64-v2-support", "x86-64-v2+sse3"),
            ("Architecture-Variant: amd64v3", "x86-64-v3"),
        ] {
            assert_eq!(of(&control(more)), level(expected), "{more}");
        }
        let said = refined(&control("Depends: sse3-support")).map(|statement| statement.shown());
        assert_eq!(said.as_deref(), Some("depends on sse3-support (control)"));
    }

    #[test]
    fn dependency_that_leaves_a_choice_or_is_for_other_machines_raises_nothing() {
        for more in [
            "Depends: sse4.2-support | libx-generic",
            "Recommends: sse4.2-support",
            "Depends: libx-support, neon-support, not-sse3-support",
            "Description: depends on sse4.2-support",
        ] {
            assert_eq!(refined(&format!("Architecture: amd64\n{more}\n")), None, "{more}");
        }
        assert_eq!(refined("Architecture: arm64\nDepends: sse3-support\n"), None);
        let unknown = refined("Architecture: amd64\nArchitecture-Variant: amd64v9\nDepends: sse3-support\n");
        assert_eq!(unknown.map(|statement| statement.machines), Some(Machines::Unknown));
    }

    #[test]
    fn architectures_and_variants_are_levels() {
        assert_eq!(of_architecture("arm64"), Machines::Level("armv8.0-a".to_owned()));
        assert_eq!(
            (of_architecture("all"), of_architecture("riscv64")),
            (Machines::Any, Machines::Elsewhere)
        );
        assert_eq!(of_variant("amd64v3"), Machines::Level("x86-64-v3".to_owned()));
        for unknown in ["amd64v9", "arm64v9", "", "v3"] {
            assert_eq!(of_variant(unknown), Machines::Unknown, "{unknown}");
        }
    }
}

//! Debian packages: deb-control(5), `Architecture`, and `Architecture-Variant` (dpkg 1.23, Ubuntu 25.10).

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
    let variant = field(&control, "Architecture-Variant").map(|variant| {
        Statement::new(PLACE, format!("Architecture-Variant: {variant}"), of_variant(&variant)).refining()
    });
    architecture.into_iter().chain(variant).collect()
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

/// The value of a field.
fn field(control: &str, name: &str) -> Option<String> {
    let mut fields = control.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
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

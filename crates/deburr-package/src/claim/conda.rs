//! Conda packages: `subdir` of `info/index.json`, and a dependency on the metapackage of a micro-architecture level
//! (conda-forge, "Microarch-optimized builds": `_x86_64-microarch-level >=3`).

use super::identity::{Identity, text};
use super::members::{of_tar, unpacked};
use super::statement::{Machines, Statement};
use crate::codec::meter::Meter;
use crate::sniff::{Codec, Found, sniff};
use serde_json::Value;
use std::rc::Rc;

const PLACE: &str = "info/index.json";

/// The statements of a `.conda` file.
pub(super) fn of_zip(bytes: &[u8], meter: &Rc<Meter>) -> Vec<Statement> {
    index_of_zip(bytes, meter).as_ref().map_or_else(Vec::new, of_document)
}

/// The statements of a `.tar.bz2`.
pub(super) fn of_stream(codec: Codec, bytes: &[u8], meter: &Rc<Meter>) -> Vec<Statement> {
    index_of_stream(codec, bytes, meter).as_ref().map_or_else(Vec::new, of_document)
}

/// What a package is, by its index.
pub(super) fn identity(index: &Value) -> Identity {
    let version = text(index, "version").map(|version| match text(index, "build") {
        Some(build) => format!("{version}-{build}"),
        None => version,
    });
    let built = index.get("timestamp").and_then(Value::as_i64);
    Identity {
        name: text(index, "name"),
        version,
        architecture: text(index, "subdir"),
        // Milliseconds; what conda-build wrote before 2017 are seconds.
        built: built.map(|time| if time > 253_402_300_799 { time / 1000 } else { time }),
    }
}

/// The index of a `.conda` file: zip, with `info-NAME.tar.zst` in it.
pub(super) fn index_of_zip(bytes: &[u8], meter: &Rc<Meter>) -> Option<Value> {
    let wanted = |name: &str| name.starts_with("info-") && name.contains(".tar.") && !name.contains('/');
    let members = super::members::of_zip(bytes, meter, wanted);
    let (_, info) = members.into_iter().next()?;
    let Found::Compressed(codec) = sniff(&info) else { return None };
    index(codec, &info, meter)
}

/// The index of a `.tar.bz2`, which begins with some file of a conda package.
pub(super) fn index_of_stream(codec: Codec, bytes: &[u8], meter: &Rc<Meter>) -> Option<Value> {
    (codec == Codec::Bzip2).then(|| index(codec, bytes, meter)).flatten()
}

fn index(codec: Codec, bytes: &[u8], meter: &Rc<Meter>) -> Option<Value> {
    serde_json::from_slice(&of_tar(unpacked(codec, bytes, meter), |name| name == PLACE, |_| true)?).ok()
}

fn of_document(document: &Value) -> Vec<Statement> {
    let subdir = document.get("subdir").and_then(Value::as_str).map(|subdir| {
        let machines = match subdir {
            "linux-64" => Machines::Level("x86-64".to_owned()),
            "linux-aarch64" => Machines::Level("armv8.0-a".to_owned()),
            "noarch" => Machines::Any,
            _ => Machines::Elsewhere,
        };
        Statement::new(PLACE, format!("subdir {subdir}"), machines)
    });
    let depends = document.get("depends").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let levels = depends.iter().filter_map(Value::as_str).filter_map(|dependency| {
        let rest = dependency.trim_start_matches('_').strip_prefix("x86_64-microarch-level")?;
        let level =
            rest.trim_start_matches([' ', '=', '>']).split(['.', ',', ' ']).next().unwrap_or_default();
        let machines = match level {
            "1" => Machines::Level("x86-64".to_owned()),
            "2" | "3" | "4" => Machines::Level(format!("x86-64-v{level}")),
            _ => Machines::Unknown,
        };
        Some(Statement::new(PLACE, format!("depends on {dependency}"), machines).refining())
    });
    subdir.into_iter().chain(levels).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn subdirs_and_levels_are_claims() {
        let found = of_document(
            &json!({"subdir": "linux-64", "depends": ["libgcc >=13", "_x86_64-microarch-level >=3"]}),
        );
        let machines: Vec<&Machines> = found.iter().map(|statement| &statement.machines).collect();
        let [x86, v3] = ["x86-64", "x86-64-v3"].map(|name| Machines::Level(name.to_owned()));
        assert_eq!(machines, [&x86, &v3]);
        assert!(found[1].refines && !found[0].refines);
        let of = |document: Value| of_document(&document).pop().map(|statement| statement.machines);
        assert_eq!(of(json!({"subdir": "noarch"})), Some(Machines::Any));
        assert_eq!(
            of(json!({"depends": ["x86_64-microarch-level 2.*"]})),
            Some(Machines::Level("x86-64-v2".to_owned()))
        );
        assert_eq!(of(json!({"depends": ["_x86_64-microarch-level"]})), Some(Machines::Unknown));
        assert_eq!(of(json!({"depends": 3})), None);
    }
}

//! Packages of npm: `cpu` of `package.json` (npm's documentation, "package.json"), by Node's names of architectures.

use super::identity::{Identity, text};
use super::members::{of_tar, unpacked};
use super::statement::{Machines, Statement};
use crate::codec::meter::Meter;
use crate::sniff::Codec;
use serde_json::Value;
use std::cell::OnceCell;
use std::rc::Rc;

/// The statements of a package, in the compressed archive that npm downloads.
pub(super) fn statements(codec: Codec, bytes: &[u8], meter: &Rc<Meter>) -> Vec<Statement> {
    document(codec, bytes, meter).as_ref().map_or_else(Vec::new, of_document)
}

/// What a package is.
pub(super) fn identity(codec: Codec, bytes: &[u8], meter: &Rc<Meter>) -> Identity {
    let Some(document) = document(codec, bytes, meter) else { return Identity::default() };
    let cpu = |cpu: &Value| cpu.as_str().or_else(|| cpu.as_array()?.first()?.as_str()).map(str::to_owned);
    Identity {
        name: text(&document, "name"),
        version: text(&document, "version"),
        architecture: document.get("cpu").and_then(cpu),
        built: None,
    }
}

/// `package.json`.
fn document(codec: Codec, bytes: &[u8], meter: &Rc<Meter>) -> Option<Value> {
    // All is in one folder, which npm leaves out: `package` where npm packed it, anything where others did. What has two is another
    // archive.
    let top = OnceCell::new();
    let within = |name: &str| -> Option<bool> {
        let (folder, rest) = name.split_once('/').unwrap_or((name, ""));
        let top: &String = top.get_or_init(|| folder.to_owned());
        (top == folder).then_some(rest == "package.json")
    };
    let wanted = |name: &str| within(name) == Some(true);
    serde_json::from_slice(&of_tar(unpacked(codec, bytes, meter), wanted, |name| within(name).is_some())?)
        .ok()
}

/// Systems whose programs are ELF files, by Node's names.
const SYSTEMS: [&str; 7] = ["linux", "android", "freebsd", "openbsd", "netbsd", "sunos", "haiku"];

fn of_document(document: &Value) -> Vec<Statement> {
    let list = |name: &str| -> Vec<&str> {
        match document.get(name) {
            Some(Value::String(only)) => vec![only],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    };
    let (cpu, os) = (list("cpu"), list("os"));
    let (barred, named): (Vec<&str>, Vec<&str>) = os.iter().partition(|name| name.starts_with('!'));
    let is_named = |system: &&str| named.is_empty() || named.contains(system);
    let is_barred = |system: &str| barred.iter().any(|name| name.strip_prefix('!') == Some(system));
    let is_elsewhere = !SYSTEMS.iter().any(|system| is_named(system) && !is_barred(system));
    let machines = match cpu.as_slice() {
        [] | ["any"] => return Vec::new(),
        _ if is_elsewhere => Machines::Elsewhere,
        ["x64"] => Machines::Level("x86-64".to_owned()),
        ["arm64"] => Machines::Level("armv8.0-a".to_owned()),
        [only] if !only.starts_with('!') => Machines::Elsewhere,
        several if several.iter().any(|name| name.starts_with('!')) => Machines::Unknown,
        several => {
            let known = several.iter().filter_map(|name| match *name {
                "x64" => Some("x86-64".to_owned()),
                "arm64" => Some("armv8.0-a".to_owned()),
                _ => None,
            });
            Machines::Several(known.collect())
        }
    };
    vec![Statement::new("package.json", format!("cpu {}", cpu.join(", ")), machines)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_cpu_of_a_package_is_its_claim() {
        let of = |document: Value| {
            of_document(&document).pop().map(|statement| (statement.text, statement.machines))
        };
        let level = |name: &str| Machines::Level(name.to_owned());
        assert_eq!(
            of(json!({"cpu": ["x64"], "os": ["linux"]})),
            Some(("cpu x64".to_owned(), level("x86-64")))
        );
        assert_eq!(of(json!({"cpu": "arm64"})), Some(("cpu arm64".to_owned(), level("armv8.0-a"))));
        assert_eq!(
            of(json!({"cpu": ["x64"], "os": ["win32"]})),
            Some(("cpu x64".to_owned(), Machines::Elsewhere))
        );
        assert_eq!(
            of(json!({"cpu": ["x64", "arm64"]})),
            Some((
                "cpu x64, arm64".to_owned(),
                Machines::Several(vec!["x86-64".to_owned(), "armv8.0-a".to_owned()])
            ))
        );
        let of_system = |os: Value| of(json!({"cpu": ["x64"], "os": os})).map(|(_, machines)| machines);
        for os in
            [json!(["darwin", "linux"]), json!("linux"), json!(["!win32"]), json!(["freebsd"]), json!([])]
        {
            assert_eq!(of_system(os.clone()), Some(level("x86-64")), "{os}");
        }
        for os in [json!(["darwin", "win32"]), json!("aix")] {
            assert_eq!(of_system(os.clone()), Some(Machines::Elsewhere), "{os}");
        }
        assert_eq!(of(json!({"cpu": ["!ia32"]})), Some(("cpu !ia32".to_owned(), Machines::Unknown)));
        assert_eq!((of(json!({})), of(json!({"cpu": ["any"]})), of(json!([]))), (None, None, None));
    }
}

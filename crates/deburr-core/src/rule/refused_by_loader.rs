//! `refused-by-loader`: libraries and programs that a system's loader does not load. One finding of each kind a file.

use super::{Context, Rule};
use crate::danger::StatedClaim;
use crate::finding::{Finding, Severity, Value, first_names};
use crate::image::loading::python;
use crate::image::loading::version::{Version, WITH_PACKED_RELOCATIONS};
use crate::image::{NeededVersion, Rights, Undefined, demangle, needed, needed_versions, pages, rights};
use crate::insn::{ClassSet, sweep::Wants};
use crate::remedy::{Compiler, Remedy};
use std::collections::BTreeSet;

/// The library whose version says which glibc is needed (`SHLIB_COMPAT` and `libc.so.6` of glibc).
const LIBC: &str = "libc.so.6";
/// What a file with packed relocations must need, so that an older glibc refuses it instead of starting it (glibc 2.36, NEWS).
const PACKED_RELOCATIONS: &str = "GLIBC_ABI_DT_RELR";
/// Symbols that a message names.
const NAMED: usize = 3;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "refused-by-loader",
    summary: "file that a system's loader refuses: an executable stack, text relocations, a newer glibc than is claimed",
    severity: "note; error where the package claims to be for systems with that loader",
    page: include_str!("../../pages/refused-by-loader.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (1, 0), "-Wl,-z,noexecstack").only("cause", STACK),
        Remedy::new(Compiler::Clang, (1, 0), "-Wl,-z,noexecstack").only("cause", STACK),
        Remedy::new(Compiler::Rustc, (1, 0), "-C link-arg=-Wl,-z,noexecstack").only("cause", STACK),
        Remedy::new(Compiler::Gcc, (1, 0), "-fPIC").only("cause", TEXT),
        Remedy::new(Compiler::Clang, (1, 0), "-fPIC").only("cause", TEXT),
    ],
    preview: false,
    // It is loaded or it is not.
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check: |context| {
        let bytes = context.image.bytes;
        let versions = needed_versions(bytes).unwrap_or_default();
        let by_rights = rights(bytes).ok().map(|rights| {
            [
                stack(context, rights),
                text_relocations(context, rights),
                packed_relocations(context, rights, &versions),
            ]
        });
        let others = [interpreter(context), version(context, &versions), python_symbols(context)];
        by_rights.into_iter().flatten().chain(others).flatten().collect()
    },
};

const STACK: &str = "executable-stack";
const TEXT: &str = "text-relocations";

/// A library that needs an executable stack: glibc 2.41 does not open one with `dlopen`.
fn stack(context: &Context<'_>, rights: Rights) -> Option<Finding> {
    if !rights.executable_stack {
        return None;
    }
    let why = match rights.is_stack_stated {
        true => "its header PT_GNU_STACK is executable",
        false => "it has no header PT_GNU_STACK",
    };
    let message =
        format!("glibc 2.41 and later refuse to load it with dlopen: it needs an executable stack ({why})");
    finding(context, STACK, message, of_glibc(context), Vec::new())
}

/// Relocations of what is not to be written: Android refuses such a library, and so does SELinux.
fn text_relocations(context: &Context<'_>, rights: Rights) -> Option<Finding> {
    if !rights.text_relocations {
        return None;
    }
    let is_android = pages(context.image.bytes).is_ok_and(|pages| pages.is_android);
    let who = if is_android { "Android refuses" } else { "Android and SELinux's default policy refuse" };
    let message = format!("{who} to load it: it has text relocations, which change code");
    let found = finding(context, TEXT, message, None, Vec::new())?;
    Some(if is_android { Finding { severity: Severity::Error, ..found } } else { found })
}

/// A program whose interpreter the system does not have that it is for: the kernel says that there is no such file.
fn interpreter(context: &Context<'_>) -> Option<Finding> {
    let missing = context.missing_interpreter?;
    let message = format!("Linux refuses to start it: its interpreter {missing} is not there");
    let evidence = vec![("interpreter", Value::Text(missing.into()))];
    let found = finding(context, "interpreter", message, None, evidence)?;
    Some(Finding { severity: Severity::Error, ..found })
}

/// A newer version of glibc than the claim promises to run with.
fn version(context: &Context<'_>, needed: &[NeededVersion<'_>]) -> Option<Finding> {
    let claim = of_glibc(context)?;
    let (major, minor) = claim.oldest_glibc?;
    let oldest = Version { major, minor };
    let newer = needed.iter().filter(|needed| !needed.is_weak).filter_map(|needed| {
        let version = Version::of_glibc(needed.name).filter(|version| *version > oldest)?;
        Some((version, needed))
    });
    let newer: Vec<(Version, &NeededVersion<'_>)> = newer.collect();
    let &(newest, first) = newer.iter().max_by_key(|(version, _)| *version)?;
    let indices: BTreeSet<u16> = newer.iter().map(|(_, needed)| needed.index).collect();
    let symbols: Vec<&Undefined<'_>> =
        context.undefined().iter().filter(|symbol| indices.contains(&symbol.version)).collect();
    let newest_symbols: Vec<&str> =
        symbols.iter().filter(|symbol| symbol.version == first.index).map(|symbol| symbol.name).collect();
    let named = first_names(newest_symbols.into_iter().map(|name| demangle(name).to_string()), NAMED);
    let for_symbols = if named.is_empty() { String::new() } else { format!(" for {named}") };
    let message = format!(
        "glibc before {newest} refuses to load it: it needs {} of {}{for_symbols}",
        first.name, first.library
    );
    let mut symbols: Vec<String> = symbols.iter().map(|symbol| demangle(symbol.name).to_string()).collect();
    symbols.sort_unstable();
    let evidence = vec![
        ("needed_glibc", Value::Text(newest.to_string().into())),
        ("claimed_glibc", Value::Text(oldest.to_string().into())),
        ("symbols", Value::List(symbols)),
    ];
    finding(context, "glibc-version", message, Some(claim), evidence)
}

/// Packed relocations without the version that says so.
fn packed_relocations(
    context: &Context<'_>,
    rights: Rights,
    needed: &[NeededVersion<'_>],
) -> Option<Finding> {
    let is_glibc = needed.iter().any(|needed| needed.library == LIBC);
    let is_stated = needed.iter().any(|needed| needed.name == PACKED_RELOCATIONS);
    if !rights.packed_relocations || !is_glibc || is_stated {
        return None;
    }
    let message = format!(
        "glibc {WITH_PACKED_RELOCATIONS} and later refuse to load it: it has packed relocations (DT_RELR) and does not need \
         {PACKED_RELOCATIONS}; earlier ones do not apply these relocations"
    );
    finding(context, "packed-relocations", message, of_glibc(context), Vec::new())
}

/// Functions and objects of Python that a version does not have which the claim is for. Python loads modules with `RTLD_NOW`.
fn python_symbols(context: &Context<'_>) -> Option<Finding> {
    /// A library that needs this loads a Python of its own.
    const LIBRARY: &str = "libpython";
    let claim = context.claim.filter(|claim| claim.pythons != 0)?;
    let mut missing: Vec<(&str, u32)> = context
        .undefined()
        .iter()
        .filter(|symbol| !symbol.is_weak)
        .map(|symbol| (symbol.name, python::without(symbol.name, claim.pythons)))
        .filter(|&(_, versions)| versions != 0)
        .collect();
    let versions = missing.iter().fold(0, |all, (_, versions)| all | versions);
    let needed = needed(context.image.bytes).ok()?;
    if versions == 0 || needed.libraries.iter().any(|library| library.starts_with(LIBRARY)) {
        return None;
    }
    missing.sort_unstable();
    let symbols: Vec<String> = missing.iter().map(|(name, _)| (*name).to_owned()).collect();
    let (pythons, named) = (python::listed(versions), first_names(symbols.iter().cloned(), NAMED));
    let message = format!("{pythons} cannot import it: it needs what is not defined there: {named}");
    let evidence = vec![("pythons", Value::Text(pythons.into())), ("symbols", Value::List(symbols))];
    finding(context, "python-symbols", message, Some(claim), evidence)
}

/// The claim, if it is for systems with glibc.
fn of_glibc<'a>(context: &Context<'a>) -> Option<StatedClaim<'a>> {
    context.claim.filter(|claim| claim.oldest_glibc.is_some())
}

/// `claim`: that it breaks.
fn finding(
    context: &Context<'_>,
    cause: &'static str,
    message: String,
    claim: Option<StatedClaim<'_>>,
    mut evidence: Vec<(&'static str, Value)>,
) -> Option<Finding> {
    evidence.insert(0, ("cause", Value::Text(cause.into())));
    Some(context.finding_of_claim(RULE.id, claim, context.start()?, message, evidence))
}

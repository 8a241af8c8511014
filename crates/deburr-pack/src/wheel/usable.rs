//! A wheel → whether it can be a variant by level: it is plain, is for Linux on the architecture, and holds code.

use crate::check::is_linked;
use deburr_cpu::Arch;
use deburr_package::claim::Machines;
use deburr_package::wheel::{Wheel, WheelError};
use deburr_text::one_line;

/// Why a wheel cannot be a variant by level; `None` where it can.
pub(super) fn unusable(wheel: &Wheel<'_>, arch: Arch) -> Result<Option<String>, WheelError> {
    let name = wheel.name.with_label(wheel.name.label.as_deref());
    if wheel.is_variant() {
        return Ok(Some(format!("{name} is a variant already; expected a plain wheel")));
    }
    let code = binaries(wheel)?;
    let tags = wheel.name.tags.join("-");
    let (machine, family) = match arch {
        Arch::X86_64 => ("x86_64", "x86-64"),
        Arch::Aarch64 => ("aarch64", "aarch64"),
    };
    let reason = match (&wheel.machines, code.first()) {
        (Machines::Any, None) => {
            format!("{name} holds no machine code, so it is the same at each level; publish it as it is")
        }
        (Machines::Any, Some(first)) => format!(
            "{name} is for any machine ({tags}), though it holds {}; build it with a platform tag",
            one_line(first)
        ),
        (machines, _) if machines.level_for(family).is_none() => {
            format!("{name} is for {}; expected a platform of Linux on {machine}", wheel.name.tags[2])
        }
        (_, None) => {
            format!("{name} holds no program and no shared library, so it is the same at each level")
        }
        (_, Some(_)) => return Ok(None),
    };
    Ok(Some(reason))
}

/// The programs and shared libraries in a wheel.
pub(super) fn binaries<'w>(wheel: &'w Wheel<'_>) -> Result<Vec<&'w str>, WheelError> {
    let mut found = Vec::new();
    for (path, _) in wheel.files() {
        if is_linked(&wheel.head(path)?) {
            found.push(path);
        }
    }
    Ok(found)
}

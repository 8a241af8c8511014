//! What may bring knowledge of the CPU into a file from outside.
//!
//! In: the imports, the exported functions, the data. Out: the first [`Carrier`], if there is any. A function or an object of
//! another file may carry anything, except those whose meaning is laid down and does not depend on the CPU: `inert.txt` has
//! them, with the standards that say so. What a program's user states (the environment, arguments of `main`, a file of the
//! user's) is the user's own account, and carries nothing.

use crate::address::Svma;
use crate::function::reach::file::knowledge;
use crate::function::reach::file::names;
use crate::function::reach::file::view::View;
use crate::image::{Image, Kind, Linkage};
use deburr_cpu::Arch;
use memchr::memmem;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

/// What may bring it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// A function or an object of another file.
    Import(Arc<str>),
    /// An argument of an exported function.
    Caller(Svma),
    /// What the program finds where the kernel starts it, what another member of its archive does, or what it reads from a
    /// file that describes the CPU.
    Surroundings,
}

/// Files of Linux that describe the CPU (proc(5), sysfs(5)).
const DESCRIPTIONS: [&[u8]; 4] =
    [b"/proc/cpuinfo", b"/self/auxv", b"/sys/devices/system/cpu/cpu", b"/regs/identification"];

/// The first thing that may bring knowledge of the CPU. `interface`: exported functions that others are meant to call.
pub(crate) fn carrier(file: &View<'_, '_>, interface: &[Svma]) -> Option<Carrier> {
    let linkage = file.linkage;
    let imports = || linkage.imports.iter().map(|import| import.name);
    let is_started_by_kernel = is_started_by_kernel(file.image, linkage);
    if file.image.kind == Kind::Relocatable || linkage.imports.is_empty() || is_started_by_kernel {
        return Some(Carrier::Surroundings);
    }
    let carries =
        |name: &&str| !is_inert(name) && !is_answered(file, name) && !is_known_not_to_carry(file, name);
    let reporter = imports().filter(|name| file.answerers.contains(name)).find(carries);
    if let Some(name) = reporter.or_else(|| imports().find(carries)) {
        return Some(Carrier::Import(name.into()));
    }
    let takes = |at: &&Svma| {
        let function = file.image.code_offset(**at).and_then(|start| file.program.function_from(start));
        let names = linkage.named_exports.iter().filter(|export| export.at == **at);
        // These get handles alone.
        let is_entered_by_host = names.into_iter().any(|export| is_entry_without_values(export.name));
        !is_entered_by_host && function.is_some_and(|function| file.takes_arguments(function))
    };
    if let Some(&at) = interface.iter().find(takes) {
        return Some(Carrier::Caller(at));
    }
    names_description(linkage).then_some(Carrier::Surroundings)
}

/// Whether the kernel starts it, with the auxiliary vector on the stack, and no C library of another file does.
pub(crate) fn is_started_by_kernel(image: &Image<'_>, linkage: &Linkage<'_>) -> bool {
    let starts = |name: &str| name.trim_start_matches('_').starts_with("libc_start_main");
    image.kind == Kind::Executable && !linkage.imports.iter().any(|import| starts(import.name))
}

/// Whether the file names one of the kernel's files that describe the CPU.
pub(crate) fn names_description(linkage: &Linkage<'_>) -> bool {
    let constant = linkage.data.iter().filter(|data| !data.is_writable);
    let mut texts = constant.flat_map(|data| DESCRIPTIONS.map(|name| memmem::find(data.bytes, name)));
    texts.any(|found| found.is_some())
}

/// Whether a module is entered by this name with handles of its host's, and no values.
fn is_entry_without_values(name: &str) -> bool {
    names::is_module_entry(name) && !name.starts_with("Java_") && !name.starts_with("JNI_")
}

/// Whether what a function of this name returns is followed bit by bit.
fn is_answered(file: &View<'_, '_>, name: &str) -> bool {
    matches!((file.image.arch, name), (_, "getauxval" | "__getauxval"))
        || file.image.arch == Arch::Aarch64 && name == "__aarch64_have_lse_atomics"
}

/// Whether the file at hand that defines a name exports nothing that says anything of the CPU.
fn is_known_not_to_carry(file: &View<'_, '_>, name: &str) -> bool {
    knowledge::definition(file.foreign, name).is_some_and(|knowledge| knowledge.is_empty())
}

/// The names in the table: whole ones, beginnings, and those of functions of numbers, whose forms are derived.
struct Names {
    whole: HashSet<&'static str>,
    beginnings: Vec<&'static str>,
    numeric: HashSet<&'static str>,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let mut names = Names { whole: HashSet::new(), beginnings: Vec::new(), numeric: HashSet::new() };
    let mut is_numeric = false;
    for line in include_str!("inert.txt").lines() {
        if line.starts_with('#') {
            is_numeric = line.contains("<math.h>");
            continue;
        }
        for name in line.split_whitespace() {
            match name.strip_suffix('*') {
                Some(beginning) => names.beginnings.push(beginning),
                None if is_numeric => drop(names.numeric.insert(name)),
                None => drop(names.whole.insert(name)),
            }
        }
    }
    names
});

/// Whether the meaning of a function or an object of this name is laid down, and does not depend on what the CPU has.
pub(crate) fn is_inert(name: &str) -> bool {
    // What the C library adds for checks of sizes, for standards and for large files.
    let plain = name.strip_prefix("__").and_then(|name| name.strip_suffix("_chk")).unwrap_or(name);
    let plain = ["__isoc99_", "__isoc23_", "__xpg_"]
        .iter()
        .find_map(|mark| plain.strip_prefix(mark))
        .unwrap_or(plain);
    let plain = plain.strip_suffix("64").filter(|rest| rest.len() > 2).unwrap_or(plain);
    let stem = plain.strip_suffix(['f', 'l']).unwrap_or(plain);
    let is_listed = |name: &str| NAMES.whole.contains(name) || NAMES.numeric.contains(name);
    is_listed(name)
        || is_listed(plain)
        || NAMES.numeric.contains(stem)
        || NAMES.beginnings.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_standards_lay_down_carries_nothing() {
        let inert = [
            "malloc",
            "memcpy",
            "__memcpy_chk",
            "__isoc23_strtoul",
            "fopen64",
            "sinf",
            "powl",
            "printf",
            "stdout",
            "environ",
            "pthread_mutex_lock",
            "_ZNSt6vectorIiSaIiEE9push_backEOi",
            "_Znwm",
            "__cxa_throw",
            "PyLong_AsLong",
            "_Py_NoneStruct",
            "napi_create_object",
            "__libc_start_main",
            "__errno_location",
            "_Unwind_Resume",
            "__xpg_strerror_r",
        ];
        for name in inert {
            assert!(is_inert(name), "{name}");
        }
    }

    #[test]
    fn what_may_carry_the_cpu_is_not_in_the_table() {
        let carrying = [
            "getauxval",
            "elf_aux_info",
            "sysctl",
            "sysctlbyname",
            "prctl",
            "arch_prctl",
            "dlsym",
            "dlvsym",
            "dlopen",
            "popen",
            "av_get_cpu_flags",
            "__cpu_model",
            "__get_cpu_features",
            "host_level",
            "_rtld_global_ro",
            "__cpu_indicator_init",
            "deflate",
            "_ZN3foo3barEv",
            "execve",
            "openl",
            "_dl_hwcap",
            "",
        ];
        for name in carrying {
            assert!(!is_inert(name), "{name}");
        }
        assert!(!NAMES.whole.iter().any(|name| names::reports_cpu(name) || names::answers(name)));
    }
}

//! What is known of functions of other files: `knowledge/imports.toml` → [`Behaviour`] by name, `knowledge/arguments.toml` →
//! [`Passed`] by name, `knowledge/extents.toml` → [`Extent`] by name and argument.

use deburr_cpu::Arch;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// What a function of another file does to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Reads what it is handed, and no more.
    Inert,
    /// Compares two texts, and returns zero where they are the same.
    ComparesTexts,
    /// Reads what it is handed and all that this leads to, and may call it.
    Reads,
    /// Writes to what it is handed, what has nothing to do with the CPU.
    Writes,
    /// Does not come back.
    Ends,
    /// Does not come back, and unwinds the stack.
    Throws,
    /// Returns memory of its own, or null.
    Allocates,
    /// The same, which is zero.
    AllocatesZeros,
    /// Returns memory of its own.
    AllocatesSurely,
    /// Stores the address of memory of its own where the first argument points.
    AllocatesInto,
    /// Returns memory that holds what the first argument pointed to.
    Reallocates,
    /// Copies from the second to the first, as many bytes as the third says.
    Copies,
    /// Fills the first with the second, as many bytes as the third says.
    Fills,
    /// Clears the first, as many bytes as the second says.
    Clears,
    /// Calls the second, once in a program.
    CallsSecondOnce,
    /// Calls the first with the second, later.
    CallsFirstLater,
    /// Calls the third with the fourth, in another thread.
    StartsThread,
    /// Calls the first, and ends the program.
    StartsMain,
    /// Says whether a static object is to be initialised.
    TakesGuard,
    /// Says that it was.
    ReleasesGuard,
    /// Comes back again where another function jumps.
    ComesBackTwice,
    /// Returns what glibc keeps of a CPUID leaf.
    AnswersLeaf,
    /// Returns an entry of the auxiliary vector: the first argument says which.
    ReadsAuxiliary,
    /// Has the effects of a function without a row; its result may depend on the CPU, although its prototype is known.
    Anything,
    /// Finds something in another file by its name: what is found may say anything.
    FindsCode,
    /// Calls the system: the first argument says for what.
    CallsSystem,
    /// Returns a variable of the environment, or null.
    ReadsEnvironment,
    /// Has the effects of a function without a row; what it is handed may be called while the program goes on.
    CallsInParallel,
    /// Sets what a signal does: the first argument says which.
    HandlesSignal,
    /// Returns the address of a thread's variable.
    FindsThreadMemory,
    /// Returns how far a thread's variable is from its control block, and changes no other register.
    FindsThreadOffset,
}

/// How many registers a function is passed arguments in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// So many, at most.
    Registers(u8),
    /// As many as the format says that is the argument of this number, counted from 0, and what comes before and with it.
    ByFormat(u8),
}

/// How far a function goes in what an argument points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Bytes.
    pub bytes: u16,
    /// The argument that says how many times as many, counted from 0.
    pub times: Option<u8>,
}

/// The extents of a function's arguments.
type Extents = [Option<Extent>; 6];

const IMPORTS: &str = include_str!("../knowledge/imports.toml");
const ARGUMENTS: &str = include_str!("../knowledge/arguments.toml");
const EXTENTS: &str = include_str!("../knowledge/extents.toml");

/// What a function does, if a row is about it.
pub(crate) fn behaviour(name: &str) -> Option<Behaviour> {
    static ROWS: LazyLock<FxHashMap<&'static str, Behaviour>> =
        LazyLock::new(|| read(IMPORTS, does).unwrap_or_default());
    ROWS.get(name).copied()
}

/// Whether a function returns twice, as `setjmp` does.
pub(crate) fn returns_twice(name: &str) -> bool {
    behaviour(name) == Some(Behaviour::ComesBackTwice)
}

/// How many registers a function is passed arguments in, if a row is about it.
pub(crate) fn passed(name: &str) -> Option<Passed> {
    static ROWS: LazyLock<FxHashMap<&'static str, Passed>> =
        LazyLock::new(|| read(ARGUMENTS, takes).unwrap_or_default());
    ROWS.get(name).copied()
}

/// How far a function goes in what an argument points to, if a row is about it. Arguments are counted from 0.
pub(crate) fn extent(name: &str, argument: usize) -> Option<Extent> {
    static ROWS: LazyLock<FxHashMap<&'static str, Extents>> =
        LazyLock::new(|| read(EXTENTS, reaches).unwrap_or_default());
    *ROWS.get(name)?.get(argument)?
}

/// Whether a call of the system only waits at a word of memory, or wakes who waits there (Linux futex(2), by its number). Those two operations, and the same with a mask, write nothing.
pub(crate) const fn only_waits(arch: Arch, number: u64, operation: u64) -> bool {
    let futex = match arch {
        Arch::X86_64 => 202,
        Arch::Aarch64 => 98,
    };
    const OPERATION: u64 = 0x7f;
    number == futex && matches!(operation & OPERATION, 0 | 1 | 9 | 10)
}

/// Whether the result of a function does not depend on the CPU: true for the C library and for C++'s standard library (by mangled names,
/// Itanium C++ ABI 5.1.4), unless a row says otherwise.
pub(crate) fn is_silent(name: &str) -> bool {
    match behaviour(name) {
        Some(does) => {
            !matches!(does, Behaviour::Anything | Behaviour::AnswersLeaf | Behaviour::ReadsAuxiliary)
        }
        None => {
            let is_standard = ["_ZNSt", "_ZNKSt", "_ZSt"].iter().any(|prefix| name.starts_with(prefix));
            is_standard || passed(name).is_some()
        }
    }
}

/// Whether a function may have code of the program run while its caller goes on, in a thread or as the handler of a signal. Of
/// libraries that nothing is known of, any may.
pub(crate) fn runs_in_parallel(name: &str) -> bool {
    match behaviour(name) {
        Some(does) => matches!(
            does,
            Behaviour::StartsThread
                | Behaviour::CallsInParallel
                | Behaviour::HandlesSignal
                | Behaviour::CallsSystem
                | Behaviour::FindsCode
        ),
        None => !is_silent(name),
    }
}

/// Whether an entry of the auxiliary vector says something of the CPU: AT_PLATFORM, AT_HWCAP, AT_BASE_PLATFORM, AT_HWCAP2, AT_HWCAP3
/// and AT_HWCAP4 do (Linux, `include/uapi/linux/auxvec.h`).
pub(crate) const fn is_of_the_cpu(entry: u64) -> bool {
    matches!(entry, 15 | 16 | 24 | 26 | 29 | 30)
}

/// Whether an import returns memory that nobody else has.
pub(crate) fn allocates(name: &str) -> bool {
    matches!(
        behaviour(name),
        Some(Behaviour::Allocates | Behaviour::AllocatesZeros | Behaviour::AllocatesSurely)
    )
}

fn named(does: &str) -> Option<Behaviour> {
    use Behaviour as B;
    Some(match does {
        "inert" => B::Inert,
        "compares-texts" => B::ComparesTexts,
        "reads" => B::Reads,
        "writes" => B::Writes,
        "ends" => B::Ends,
        "throws" => B::Throws,
        "allocates" => B::Allocates,
        "allocates-zeros" => B::AllocatesZeros,
        "allocates-surely" => B::AllocatesSurely,
        "allocates-into" => B::AllocatesInto,
        "reallocates" => B::Reallocates,
        "copies" => B::Copies,
        "fills" => B::Fills,
        "clears" => B::Clears,
        "calls-second-once" => B::CallsSecondOnce,
        "calls-first-later" => B::CallsFirstLater,
        "starts-thread" => B::StartsThread,
        "starts-main" => B::StartsMain,
        "takes-guard" => B::TakesGuard,
        "releases-guard" => B::ReleasesGuard,
        "comes-back-twice" => B::ComesBackTwice,
        "answers-leaf" => B::AnswersLeaf,
        "reads-auxiliary" => B::ReadsAuxiliary,
        "anything" => B::Anything,
        "finds-code" => B::FindsCode,
        "calls-system" => B::CallsSystem,
        "reads-environment" => B::ReadsEnvironment,
        "calls-in-parallel" => B::CallsInParallel,
        "handles-signal" => B::HandlesSignal,
        "finds-thread-memory" => B::FindsThreadMemory,
        "finds-thread-offset" => B::FindsThreadOffset,
        _ => return None,
    })
}

/// What a line of a row says of its functions.
fn does(line: &str) -> Option<Behaviour> {
    named(line.strip_prefix("does = ")?.trim_matches('"'))
}

fn takes(line: &str) -> Option<Passed> {
    let (key, number) = line.split_once(" = ")?;
    match key {
        "arguments" => number.parse().ok().map(Passed::Registers),
        "format" => number.parse().ok().map(Passed::ByFormat),
        _ => None,
    }
}

fn reaches(line: &str) -> Option<Extents> {
    let mut extents = Extents::default();
    for part in line.strip_prefix("objects = ")?.trim_matches('"').split(' ') {
        let (argument, extent) = part.split_once(':')?;
        let (bytes, times) = match extent.split_once('*') {
            Some((bytes, times)) => (bytes, Some(times.parse().ok()?)),
            None => (extent, None),
        };
        let argument: usize = argument.parse().ok()?;
        *extents.get_mut(argument)? = Some(Extent { bytes: bytes.parse().ok()?, times });
    }
    Some(extents)
}

/// Reads the rows; `None` where a line is not understood.
fn read<F: Copy>(text: &'static str, says: fn(&str) -> Option<F>) -> Option<FxHashMap<&'static str, F>> {
    let mut rows = FxHashMap::default();
    let (mut fact, mut has_source, mut in_names) = (None, false, false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line == "[[functions]]" {
            (fact, has_source, in_names) = (None, false, false);
        } else if line.starts_with("source = ") {
            has_source = true;
        } else if let Some(list) = line.strip_prefix("names = [").or((in_names).then_some(line)) {
            in_names = !list.ends_with(']');
            let names =
                list.trim_end_matches([']', ',']).split(',').map(|name| name.trim().trim_matches('"'));
            rows.extend(
                names
                    .map(|name| fact.filter(|_| has_source).map(|fact| (name, fact)))
                    .collect::<Option<Vec<_>>>()?,
            );
        } else {
            fact = Some(says(line)?);
        }
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_and_has_a_source() {
        let rows = read(IMPORTS, does).unwrap();
        assert!(rows.len() > 100, "{}", rows.len());
        assert_eq!(rows.get("malloc"), Some(&Behaviour::Allocates));
        assert_eq!(rows.get("_ZNSt8ios_base4InitD1Ev"), Some(&Behaviour::Inert), "the second line of a list");
        assert!(rows.keys().all(|name| !name.is_empty() && !name.contains(' ')));
    }

    #[test]
    fn arguments_are_those_of_the_prototypes() {
        let rows = read(ARGUMENTS, takes).unwrap();
        for (name, count) in
            [("getenv", 1), ("strtol", 3), ("pow", 0), ("abort", 0), ("qsort", 4), ("mmap", 6), ("open", 3)]
        {
            assert_eq!(rows.get(name), Some(&Passed::Registers(count)), "{name}");
        }
        assert_eq!(rows.get("__printf_chk"), Some(&Passed::ByFormat(1)));
        assert_eq!(rows.get("syscall"), None, "any number");
    }

    #[test]
    fn extents_are_those_of_the_larger_of_both_architectures() {
        let rows = read(EXTENTS, reaches).unwrap();
        let exactly = |bytes| Some(Extent { bytes, times: None });
        assert_eq!(rows["sigaction"], [None, exactly(152), exactly(152), None, None, None]);
        assert_eq!(rows["pthread_attr_init"][0], exactly(64), "56 on x86-64");
        assert_eq!(rows["poll"][0], Some(Extent { bytes: 8, times: Some(1) }));
        assert_eq!(rows.get("utimensat"), None, "two of them");
        assert!(read("[[functions]]\nsource = \"\"\nobjects = \"9:8\"", reaches).is_none());
    }

    #[test]
    fn what_is_not_understood_is_no_row() {
        assert!(read("[[functions]]\ndoes = \"dances\"", does).is_none());
        assert!(read("[[functions]]\ndoes = \"ends\"\nnames = [\"exit\"]", does).is_none(), "no source");
    }
}

//! What is known of functions of other files: `knowledge/imports.toml` → [`Behaviour`] by name, `knowledge/arguments.toml` →
//! [`Passed`] by name.

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
    /// Returns something that depends on the CPU.
    AnswersOpenly,
    /// Returns a variable of the environment, or null.
    ReadsEnvironment,
    /// Returns the address of a thread's variable.
    FindsThreadMemory,
}

/// How many registers a function is passed arguments in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// So many, at most.
    Registers(u8),
    /// As many as the format says that is the argument of this number, counted from 0, and what comes before and with it.
    ByFormat(u8),
}

const IMPORTS: &str = include_str!("../knowledge/imports.toml");
const ARGUMENTS: &str = include_str!("../knowledge/arguments.toml");

/// What a function does, if a row is about it.
pub(crate) fn behaviour(name: &str) -> Option<Behaviour> {
    static ROWS: LazyLock<FxHashMap<&'static str, Behaviour>> =
        LazyLock::new(|| read(IMPORTS, does).unwrap_or_default());
    ROWS.get(name).copied()
}

/// How many registers a function is passed arguments in, if a row is about it.
pub(crate) fn passed(name: &str) -> Option<Passed> {
    static ROWS: LazyLock<FxHashMap<&'static str, Passed>> =
        LazyLock::new(|| read(ARGUMENTS, takes).unwrap_or_default());
    ROWS.get(name).copied()
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
        "answers-openly" => B::AnswersOpenly,
        "reads-environment" => B::ReadsEnvironment,
        "finds-thread-memory" => B::FindsThreadMemory,
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
    fn what_is_not_understood_is_no_row() {
        assert!(read("[[functions]]\ndoes = \"dances\"", does).is_none());
        assert!(read("[[functions]]\ndoes = \"ends\"\nnames = [\"exit\"]", does).is_none(), "no source");
    }
}

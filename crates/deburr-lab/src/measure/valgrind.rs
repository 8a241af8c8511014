//! Measuring stage: the instructions that a run executes, counted by Valgrind.
//!
//! In: a command. Out: the same under Valgrind's cachegrind, and from the files that this writes, the number for all
//! of its processes. It needs no counters of the processor, and hardly any noise is in it; a run takes some 20 to 50
//! times as long, so that no other number of such a run means anything.

use super::process::Task;
use deburr_text::ShownPath as _;
use std::fs;
use std::io;
use std::path::Path;

/// The program that counts.
pub const PROGRAM: &str = "valgrind";

/// A command as Valgrind runs it, which writes a file of its own for each process to a folder.
pub(super) fn under(task: &Task, folder: &Path) -> Task {
    let options = [
        "--tool=cachegrind",
        "--cache-sim=no",
        "--trace-children=yes",
        "--vgdb=no",
        "--cachegrind-out-file=/dev/null",
    ];
    let log = format!("--log-file={}", folder.join("%p").shown());
    let words = [PROGRAM].into_iter().chain(options).map(Into::into);
    let words = words.chain([log.into(), "--".into()]).chain(task.words.iter().cloned());
    Task { words: words.collect(), ..task.clone() }
}

/// The instructions of all processes of a run. `None`: one of them was not counted to its end.
///
/// # Errors
/// Where a file cannot be read.
pub(super) fn instructions(folder: &Path) -> io::Result<Option<f64>> {
    let mut sum = None;
    for entry in fs::read_dir(folder)? {
        let text = fs::read(entry?.path())?;
        let Some(count) = count(&String::from_utf8_lossy(&text)) else { return Ok(None) };
        sum = Some(sum.unwrap_or(0.0) + count);
    }
    Ok(sum)
}

/// What the summary of a process says: `==7== I refs:      1,234,567`. What a process did before it executed
/// another program is in none.
fn count(text: &str) -> Option<f64> {
    let counts = text.lines().filter_map(|line| {
        let (label, number) = line.rsplit_once("== ")?.1.split_once(':')?;
        let is_count = label.split_whitespace().eq(["I", "refs"]);
        is_count.then(|| number.trim().replace(',', "").parse::<f64>().ok())?
    });
    counts.fold(None, |sum: Option<f64>, count| Some(sum.unwrap_or(0.0) + count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_run_by_valgrind_with_its_own_words() {
        let task = Task::shell("exit 3");
        let under = under(&task, Path::new("/f"));
        let words: Vec<&str> = under.words.iter().filter_map(|word| word.to_str()).collect();
        assert_eq!(words[0], "valgrind");
        assert_eq!(words[words.len() - 5..], ["--log-file=/f/%p", "--", "sh", "-c", "exit 3"]);
    }

    #[test]
    fn instructions_of_all_processes_are_summed_up() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(instructions(folder.path()).expect("a folder"), None);
        let log = |count: &str| {
            format!(
                "==12== Cachegrind, a high-precision tracing profiler\n==12== \n==12== I refs:        {count}\n"
            )
        };
        fs::write(folder.path().join("12"), log("1,234,567")).unwrap();
        fs::write(folder.path().join("13"), log("33")).unwrap();
        assert_eq!(instructions(folder.path()).unwrap(), Some(1_234_600.0));
        // One that was killed has no summary.
        fs::write(folder.path().join("14"), "==14== Cachegrind\n==14== Process terminating\n").unwrap();
        assert_eq!(instructions(folder.path()).unwrap(), None);
    }
}

//! Published tables → rows, and which of them constants are fitted to.
//!
//! In: the text of `evidence/atomics_microbench.csv` and `evidence/rw_lock_like_thread_sweep.csv`. Out: [`Row`]s, each with its
//! [`Role`]. The roles are a rule, and the rule reads no time: who changes it to make the errors smaller has to change it here.
//!
//! One thread's time is the model's input. Fitted are, of the first table, EXCHANGE and FETCH_ADD with 16 threads as LL/SC and as
//! LSE, and of the second 2, 8 and 16 threads. Everything else is predicted, and nothing is fitted to it.

use super::error::ModelError;
use super::operation::Operation;

/// One published time.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which machine, as the table names it.
    pub machine: String,
    /// How many threads.
    pub threads: usize,
    /// The operation, as the table names it: `FETCH_ADD`.
    pub name: String,
    /// How it was compiled.
    pub build: Build,
    /// Nanoseconds of an operation: the time divided by the operations of a thread.
    pub ns: f64,
    /// What it is for.
    pub role: Role,
}

/// How a program was compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Build {
    /// Load-exclusive and store-exclusive.
    Exclusive,
    /// LSE in line.
    Lse,
    /// LSE in helpers, chosen at run time.
    Outlined,
}

/// What a row is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// One thread: what the operation costs alone.
    Input,
    /// Constants are fitted to it.
    Fitted,
    /// Predicted: an operation that nothing was fitted to, with as many threads.
    OtherOperation,
    /// Predicted: more or fewer threads than anything was fitted to.
    OtherThreads,
    /// Predicted: both.
    OtherBoth,
    /// Predicted: a build that nothing was fitted to.
    OtherBuild,
}

/// The operations that constants are fitted to.
const FITTED_OPERATIONS: [&str; 2] = ["EXCHANGE", "FETCH_ADD"];
/// With so many threads.
const FITTED_THREADS: usize = 16;
/// The numbers of threads of the sweep that constants are fitted to.
const FITTED_SWEEP: [usize; 3] = [2, 8, 16];
/// The sweep's operations of a thread.
const SWEEP_OPERATIONS: f64 = 1e7;

impl Build {
    /// Its name in the first table; `None` for those measured with one thread only.
    fn of(flag: &str) -> Option<Build> {
        match flag {
            "-march=armv8-a" => Some(Build::Exclusive),
            "-march=armv8-a+lse" => Some(Build::Lse),
            "-moutline-atomics" => Some(Build::Outlined),
            _ => None,
        }
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Build::Exclusive => "LL/SC",
            Build::Lse => "LSE",
            Build::Outlined => "outlined",
        }
    }
}

impl Role {
    fn of(threads: usize, name: &str, build: Build) -> Role {
        match (threads == FITTED_THREADS, FITTED_OPERATIONS.contains(&name)) {
            _ if threads == 1 => Role::Input,
            _ if build == Build::Outlined => Role::OtherBuild,
            (true, true) => Role::Fitted,
            (true, false) => Role::OtherOperation,
            (false, true) => Role::OtherThreads,
            (false, false) => Role::OtherBoth,
        }
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Input => "input",
            Role::Fitted => "fitted",
            Role::OtherOperation => "other operations",
            Role::OtherThreads => "other numbers of threads",
            Role::OtherBoth => "other operations and numbers of threads",
            Role::OtherBuild => "outlined helpers",
        }
    }
}

/// What an operation of the tables does to the line; `None` for a fence, which is not about a line.
pub fn operation(name: &str, build: Build) -> Option<Operation> {
    match (name, build) {
        ("LOAD", _) | ("BAD_CAS", Build::Exclusive) => Some(Operation::Read),
        ("STORE", _) => Some(Operation::Near),
        ("RW_LOCK_LIKE", Build::Lse | Build::Outlined) => Some(Operation::CompareAndSwapLoop),
        ("EXCHANGE" | "FETCH_ADD" | "FETCH_OR" | "OK_CAS" | "RW_LOCK_LIKE", Build::Exclusive) => {
            Some(Operation::EXCLUSIVE)
        }
        ("EXCHANGE" | "FETCH_ADD" | "FETCH_OR" | "OK_CAS" | "BAD_CAS", _) => Some(Operation::Near),
        _ => None,
    }
}

/// The rows of `evidence/atomics_microbench.csv` that the model speaks of: not those without a number of operations, not fences,
/// and not builds that were run with one thread only.
///
/// # Errors
/// [`ModelError::Line`], for the first line that is none of that table.
pub fn microbenchmarks(text: &str) -> Result<Vec<Row>, ModelError> {
    let mut rows = Vec::new();
    for (line, fields) in
        lines(text, "source_date,machine,threads,iterations_per_thread,op,build,real_s,cpu_user_s")?
    {
        let [_, machine, threads, iterations, name, flag, seconds, _] = fields[..] else {
            return Err(ModelError::Line { line, expected: "eight fields" });
        };
        let threads = whole(threads, line)?;
        let seconds = positive(seconds, line)?;
        let Some(build) = Build::of(flag).filter(|&build| operation(name, build).is_some()) else { continue };
        if !iterations.is_empty() {
            rows.push(Row {
                machine: machine.to_owned(),
                threads,
                name: name.to_owned(),
                build,
                ns: 1e9 * seconds / positive(iterations, line)?,
                role: Role::of(threads, name, build),
            });
        }
    }
    Ok(rows)
}

/// The rows of `evidence/rw_lock_like_thread_sweep.csv`.
///
/// # Errors
/// [`ModelError::Line`], for the first line that is none of that table.
pub fn sweep(text: &str) -> Result<Vec<Row>, ModelError> {
    let mut rows = Vec::new();
    for (line, fields) in lines(text, "threads,armv8_a_real_s,armv8_a_lse_real_s")? {
        let [threads, exclusive, lse] = fields[..] else {
            return Err(ModelError::Line { line, expected: "three fields" });
        };
        let threads = whole(threads, line)?;
        let role = match threads {
            1 => Role::Input,
            threads if FITTED_SWEEP.contains(&threads) => Role::Fitted,
            _ => Role::OtherThreads,
        };
        for (build, seconds) in [(Build::Exclusive, exclusive), (Build::Lse, lse)] {
            rows.push(Row {
                machine: "thread sweep".to_owned(),
                threads,
                name: "RW_LOCK_LIKE".to_owned(),
                build,
                ns: 1e9 * positive(seconds, line)? / SWEEP_OPERATIONS,
                role,
            });
        }
    }
    Ok(rows)
}

/// A table's lines after its header, numbered, in fields. No field of these tables is in quotes.
fn lines<'a>(text: &'a str, header: &'static str) -> Result<Vec<(usize, Vec<&'a str>)>, ModelError> {
    let mut numbered = (1..).zip(text.lines());
    if numbered.next().is_none_or(|(_, first)| first != header) {
        return Err(ModelError::Line { line: 1, expected: header });
    }
    Ok(numbered.map(|(line, text)| (line, text.split(',').collect())).collect())
}

fn whole(field: &str, line: usize) -> Result<usize, ModelError> {
    let threads = field.parse().ok().filter(|&threads: &usize| threads > 0);
    threads.ok_or(ModelError::Line { line, expected: "a number of threads" })
}

fn positive(field: &str, line: usize) -> Result<f64, ModelError> {
    let number = field.parse().ok().filter(|&number: &f64| number.is_finite() && number > 0.0);
    number.ok_or(ModelError::Line { line, expected: "a positive number" })
}

//! `deburr pack measure`: a workload → which levels of a pack are worth having on this CPU.
//!
//! In: the options and the record. Out: a verdict for each level against the best one below it, on the standard output,
//! and the order of the levels in the record. The engine is that of `deburr compare`.

mod profiles;

use crate::args::compare::{Compare, Trial};
use crate::args::format::Format;
use crate::args::pack::measure::Measure;
use crate::cmd::compare::{Ran, run_commands};
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::{INTERRUPTED, Interrupts};
use crate::output::complaints::complaints;
use crate::render::compare::json;
use crate::render::compare::text::headline;
use deburr_cpu::{Host, Target};
use deburr_lab::comparison::Comparison;
use deburr_lab::measure::process::{self, End, Streams, Task};
use deburr_lab::measure::stop::Stop;
use deburr_lab::stats::verdict::Outcome;
use deburr_pack::ranking::{Candidate, Gain, Ranking};
use deburr_pack::record::{Measured, Record, State};
use deburr_text::ShownPath as _;
use profiles::{Profiled, Profiles};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The variable by which a launcher selects a variant.
const LEVEL: &str = "DEBURR_LEVEL";
/// The variable and the value by which a launcher starts nothing, and fails.
const START_NOTHING: (&str, &str) = ("DEBURR_EXPLAIN", "exit");
/// What stands for the tree of a level, and for its name.
const TREE_PLACE: &str = "{tree}";
const LEVEL_PLACE: &str = "{level}";

/// One comparison.
struct Step {
    level: String,
    against: String,
    gain: Gain,
    headline: String,
    warnings: Vec<String>,
    document: Map<String, Value>,
    profiled: Profiled,
}

/// Runs the step.
pub(super) fn run(options: &Measure, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let mut record = Record::read(&options.folder).map_err(|error| Failure::Message(error.to_string()))?;
    let host = deburr_cpu::host().map_err(|error| Failure::Message(format!("this CPU: {error}")))?;
    let model = deburr_cpu::model().ok_or_else(|| {
        Failure::Message("this CPU's model is stated neither by CPUID nor by /sys".to_owned())
    })?;
    let (levels, elsewhere) = candidates(&record, &host).map_err(Failure::Message)?;
    let names: Vec<String> = levels.iter().map(|candidate| candidate.level.clone()).collect();
    let profiles = Profiles::read(&options.profile, &names).map_err(Failure::Message)?;
    let mut all = levels.into_iter();
    let (Some(lowest), true) = (all.next(), all.len() > 0) else {
        return Err(Failure::Message(format!(
            "{}: fewer than two levels are built and run on this CPU ({})",
            options.folder.shown(),
            host.level.name
        )));
    };
    let interrupts =
        Interrupts::heed().map_err(|error| Failure::Message(format!("heeding signals: {error}")))?;
    let workload = Workload::of(options, &record, &interrupts.stop);
    let is_assembled = workload.is_assembled;
    let interrupted = || {
        // Nobody reads it where the standard error is closed.
        let _ = writeln!(complaints(), "deburr: interrupted; the record is as it was");
        Ok(ExitCode::from(INTERRUPTED))
    };
    let checked = workload.check(&lowest);
    if interrupts.stop.is_wanted() {
        return interrupted();
    }
    checked.map_err(Failure::Message)?;
    let mut ranking = Ranking::new(lowest);
    let mut steps = Vec::new();
    for level in all {
        let against = ranking.best().level.clone();
        let step = workload.compare(&against, &level.level, &profiles);
        if interrupts.stop.is_wanted() {
            return interrupted();
        }
        let step = step?;
        ranking.add(level, step.gain);
        if options.format == Format::Text {
            writeln!(out, "{} (B) against {} (A): {}", step.level, step.against, step.headline)?;
            for warning in &step.warnings {
                writeln!(out, "  {warning}")?;
            }
            step.profiled.text([&step.against, &step.level], out)?;
            out.flush()?;
        }
        steps.push(step);
    }
    let (preferred, without_gain) = ranking.into_levels();
    let cpu = if host.brand.is_empty() { host.name.clone() } else { host.brand.clone() };
    let measured = Measured {
        cpu,
        maker: model.maker,
        signature: model.signature,
        command: options.command.clone(),
        preferred,
        without_gain,
    };
    let is_kept = !options.dry_run && !is_assembled;
    if is_kept {
        let is_other = |it: &Measured| (it.maker, it.signature) != (model.maker, model.signature);
        record.measured.retain(is_other);
        record.measured.push(measured.clone());
        record.write(&options.folder).map_err(|error| Failure::Message(error.to_string()))?;
    }
    print(options, &measured, &steps, &elsewhere, out)?;
    if options.format == Format::Text && is_kept {
        let place = options.folder.join(deburr_pack::record::FILE);
        writeln!(out, "{}: written; the next deburr pack assemble follows it", place.shown())?;
    } else if options.format == Format::Text && is_assembled {
        writeln!(
            out,
            "nothing is written for an assembled tree: launchers follow what is measured of a pack"
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The levels that are built and run on this CPU, those that need least first; and those that do not run here.
fn candidates(record: &Record, host: &Host) -> Result<(Vec<Candidate>, Vec<String>), String> {
    let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
    for variant in record.variants.iter().filter(|variant| variant.state == State::Done) {
        let target = Target::parse(&variant.level).map_err(|error| format!("{}: {error}", variant.level))?;
        if target.arch == host.arch && target.features.is_subset(host.features) {
            here.push(Candidate { level: variant.level.clone(), features: target.features });
        } else {
            elsewhere.push(variant.level.clone());
        }
    }
    here.sort_by_key(|candidate| candidate.features.iter().count());
    Ok((here, elsewhere))
}

/// What is run for each level.
struct Workload<'o> {
    options: &'o Measure,
    record: &'o Record,
    stop: &'o Stop,
    /// Whether it is an assembled tree, in which launchers choose, and no pack with a tree for each level.
    is_assembled: bool,
}

/// What is measured, in messages.
const COMMAND: &str = "the command";
/// A level that has no tree.
const NO_LEVEL: &str = "no-such-level";

impl<'o> Workload<'o> {
    fn of(options: &'o Measure, record: &'o Record, stop: &'o Stop) -> Workload<'o> {
        let is_assembled = record.variants.iter().all(|variant| variant.tree.as_os_str() == ".");
        Workload { options, record, stop, is_assembled }
    }

    /// Makes sure that the level makes a difference to what the command runs: it succeeds with one that there is, and fails
    /// where launchers start nothing, or where there is no tree.
    fn check(&self, level: &Candidate) -> Result<(), String> {
        let Measure { folder, trial, command, .. } = self.options;
        if trial.ignore_failure {
            return Err("--ignore-failure: a level that does not start would count".to_owned());
        }
        if !self.is_assembled && !command.iter().any(|word| word.contains(TREE_PLACE)) {
            return Err(format!(
                "the command does not say which tree it runs: write {TREE_PLACE} in it for {}",
                folder.join("LEVEL/tree").shown()
            ));
        }
        if self.is_assembled
            && let Some(libraries) = loader_s_choice(folder)
        {
            return Err(format!(
                "{}: the loader chooses these libraries by the CPU, whatever {LEVEL} says; measure the pack, by {TREE_PLACE}",
                libraries.shown()
            ));
        }
        self.around("--setup", &trial.setup)?;
        let run = |task: Result<Task, String>| {
            self.around("--prepare", &trial.prepare)?;
            self.run(task?)
        };
        let (with, without) = (run(self.task(&level.level)), run(self.task_of_nothing(&level.level)));
        self.around("--cleanup", &trial.cleanup)?;
        let with = with?;
        if with != End::Status(0) {
            return Err(format!("the command ended with {with} for {}", level.level));
        }
        // A program that is not there cannot even be started.
        let without = without.unwrap_or(End::Status(127));
        if without == End::Status(0) {
            return Err(match self.is_assembled {
                true => format!(
                    "the command starts nothing that {LEVEL} selects: with {}={} it succeeds, and no launcher would. \
                     Start a program of {}",
                    START_NOTHING.0,
                    START_NOTHING.1,
                    folder.shown()
                ),
                false => format!(
                    "the command runs nothing of {TREE_PLACE}: where that is no folder at all it succeeds as well"
                ),
            });
        }
        Ok(())
    }

    /// Runs what comes before or after the command, if there is anything.
    fn around(&self, what: &str, command: &Option<String>) -> Result<(), String> {
        let Some(command) = command else { return Ok(()) };
        match self.run(self.split(what, command.clone(), Vec::new())?)? {
            End::Status(0) => Ok(()),
            end => Err(format!("{what} ended with {end}")),
        }
    }

    fn run(&self, task: Task) -> Result<End, String> {
        let null = OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .map_err(|error| format!("/dev/null: {error}"))?;
        let ran = process::run(&task, Streams { output: &null, errors: &null }, self.stop);
        ran.map(|(end, _)| end).map_err(|error| format!("{}: {error}", self.options.command.join(" ")))
    }

    /// The command of a level, in one string for the engine.
    fn command(&self, level: &str) -> Result<String, String> {
        let folder = &self.options.folder;
        let variant = self.record.variants.iter().find(|variant| variant.level == level);
        let tree = match variant {
            Some(variant) => {
                let tree = folder.join(&variant.tree);
                std::fs::canonicalize(&tree).map_err(|error| format!("{}: {error}", tree.shown()))?
            }
            None => folder.join(level).join("tree"),
        };
        let unquotable = |error| format!("{}: {error}", tree.shown());
        if let ([only], true) = (self.options.command.as_slice(), self.options.trial.shell != "none") {
            // The shell splits it.
            let tree = tree.shown().into_owned();
            return Ok(filled(only, &shlex::try_quote(&tree).map_err(unquotable)?, level));
        }
        let tree = tree.shown().into_owned();
        let words: Vec<String> = self.options.command.iter().map(|word| filled(word, &tree, level)).collect();
        shlex::try_join(words.iter().map(String::as_str)).map_err(|error| format!("the command: {error}"))
    }

    /// One run of the command.
    fn task(&self, level: &str) -> Result<Task, String> {
        self.split(COMMAND, self.command(level)?, vec![(LEVEL.into(), level.into())])
    }

    /// A run of the command that can only fail where it runs a variant.
    fn task_of_nothing(&self, level: &str) -> Result<Task, String> {
        if !self.is_assembled {
            return self.task(NO_LEVEL);
        }
        let (name, value) = START_NOTHING;
        self.split(COMMAND, self.command(level)?, vec![(name.into(), value.into())])
    }

    /// A command as it is to be run: by a shell, or by itself.
    fn split(&self, what: &str, command: String, env: Vec<(OsString, OsString)>) -> Result<Task, String> {
        let trial = &self.options.trial;
        let unclosed = |text: &str| format!("{what} {text:?}: a quote is not closed");
        let words = match trial.shell.as_str() {
            "none" => shlex::split(&command).ok_or_else(|| unclosed(&command))?,
            shell => {
                let shell = shlex::split(shell).ok_or_else(|| unclosed(shell))?;
                shell.into_iter().chain(["-c".to_owned(), command]).collect()
            }
        };
        // What comes before or after is not timed by compare either.
        let seconds = trial.timeout.filter(|_| what == COMMAND);
        let timeout = seconds.map(Duration::try_from_secs_f64).transpose();
        Ok(Task {
            words: words.into_iter().map(Into::into).collect(),
            timeout: timeout.map_err(|error| format!("--timeout: {error}"))?,
            env,
            folder: trial.cwd.clone(),
            input: trial.input.clone(),
            ..Task::default()
        })
    }

    /// Compares two levels. What is interrupted has no meaning.
    fn compare(&self, a: &str, b: &str, profiles: &Profiles) -> Result<Step, Failure> {
        let trial: Trial = self.options.trial.clone();
        let compare = Compare {
            a: Some(self.command(a).map_err(Failure::Message)?),
            b: vec![self.command(b).map_err(Failure::Message)?],
            env_a: vec![format!("{LEVEL}={a}")],
            env_b: vec![format!("{LEVEL}={b}")],
            ..Compare::of(trial, self.options.progress)
        };
        let Ran { document, fault, pairs, .. } = run_commands(&compare, self.stop)?;
        if let Some(fault) = fault {
            return Err(Failure::Message(fault));
        }
        let first = document.comparisons.first();
        let gain = match first.map_or(Outcome::Inconclusive, Comparison::outcome) {
            Outcome::Better => Gain::Better,
            Outcome::Same => Gain::Same,
            Outcome::Worse => Gain::Worse,
            Outcome::Inconclusive => Gain::Undecided,
        };
        let warnings = first.map(|first| &first.warnings).into_iter().flatten().map(ToString::to_string);
        Ok(Step {
            warnings: warnings.collect(),
            level: b.to_owned(),
            against: a.to_owned(),
            gain,
            headline: first.map(headline).unwrap_or_default(),
            document: json::whole(&document),
            profiled: profiles.compare([a, b], &pairs),
        })
    }
}

fn filled(word: &str, tree: &str, level: &str) -> String {
    word.replace(TREE_PLACE, tree).replace(LEVEL_PLACE, level)
}

/// A folder of libraries that glibc's loader chooses among by level, if the tree has one.
fn loader_s_choice(tree: &Path) -> Option<PathBuf> {
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name() == "glibc-hwcaps" {
                    return Some(entry.path());
                }
                folders.push(entry.path());
            }
        }
    }
    None
}

fn print(
    options: &Measure,
    measured: &Measured,
    steps: &[Step],
    elsewhere: &[String],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    if options.format == Format::Json {
        let comparisons: Vec<Value> = steps
            .iter()
            .map(|step| {
                let gain = match step.gain {
                    Gain::Better => "better",
                    Gain::Same => "same",
                    Gain::Worse => "worse",
                    Gain::Undecided => "inconclusive",
                };
                json!({
                    "level": step.level, "against": step.against, "outcome": gain, "comparison": step.document,
                    "functions": step.profiled.json(),
                })
            })
            .collect();
        let whole = json!({"measured": measured, "not_run_here": elsewhere, "comparisons": comparisons});
        serde_json::to_writer_pretty(&mut *out, &whole)?;
        return writeln!(out);
    }
    for level in elsewhere {
        writeln!(out, "{level}: does not run here")?;
    }
    writeln!(out, "{}: {}", measured.cpu, measured.preferred.join(" before "))?;
    if !measured.without_gain.is_empty() {
        writeln!(out, "without gain: {}", measured.without_gain.join(", "))?;
    }
    Ok(())
}

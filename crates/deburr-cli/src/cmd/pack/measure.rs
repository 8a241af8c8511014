//! `deburr pack measure`: a workload → which levels of a pack are worth having on this CPU.
//!
//! In: the options and the record. Out: a verdict for each level against the best one below it, on the standard output,
//! and the order of the levels in the record. The engine is that of `deburr compare`.

use crate::args::compare::{Compare, Trial};
use crate::args::format::Format;
use crate::args::pack::measure::Measure;
use crate::cmd::compare::{Ran, run_commands};
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::INTERRUPTED;
use crate::render::compare::json;
use crate::render::compare::text::headline;
use deburr_cpu::{Host, Target};
use deburr_lab::comparison::Comparison;
use deburr_lab::measure::process::{self, End, Streams, Task};
use deburr_lab::measure::stop::Stop;
use deburr_lab::stats::verdict::Outcome;
use deburr_pack::ranking::{Candidate, Gain, Ranking};
use deburr_pack::record::{BuiltVariant, Measured, Record, State};
use serde_json::{Map, Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// The variable that the launcher honours.
const LEVEL: &str = "DEBURR_LEVEL";
/// What stands for the tree of a level, and for its name.
const TREE_PLACE: &str = "{tree}";
const LEVEL_PLACE: &str = "{level}";

/// One comparison.
struct Step {
    level: String,
    against: String,
    gain: Gain,
    headline: String,
    document: Map<String, Value>,
}

/// Runs the step.
pub(super) fn run(options: &Measure, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let mut record = Record::read(&options.folder).map_err(|error| Failure::Message(error.to_string()))?;
    let host = deburr_cpu::host().map_err(|error| Failure::Message(format!("this CPU: {error}")))?;
    let model = deburr_cpu::model().ok_or_else(|| {
        Failure::Message("this CPU's model is stated neither by CPUID nor by /sys".to_owned())
    })?;
    let (levels, elsewhere) = candidates(&record, &host).map_err(Failure::Message)?;
    let workload = Workload { options, record: &record };
    workload.check(&levels).map_err(Failure::Message)?;
    let mut all = levels.into_iter();
    let (Some(lowest), true) = (all.next(), all.len() > 0) else {
        return Err(Failure::Message(format!(
            "{}: fewer than two levels are built and run on this CPU ({})",
            options.folder.display(),
            host.level.name
        )));
    };
    let mut ranking = Ranking::new(lowest);
    let mut steps = Vec::new();
    for level in all {
        let against = ranking.best().level.clone();
        let Some(step) = workload.compare(&against, &level.level)? else {
            let _ = writeln!(std::io::stderr(), "deburr: interrupted; the record is as it was");
            return Ok(ExitCode::from(INTERRUPTED));
        };
        ranking.add(level, step.gain);
        if options.format == Format::Text {
            writeln!(out, "{} (B) against {} (A): {}", step.level, step.against, step.headline)?;
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
    print(options, &measured, &steps, &elsewhere, out)?;
    if !options.dry_run {
        let is_other = |it: &Measured| (it.maker, it.signature) != (model.maker, model.signature);
        record.measured.retain(is_other);
        record.measured.push(measured);
        record.write(&options.folder).map_err(|error| Failure::Message(error.to_string()))?;
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
}

impl Workload<'_> {
    /// Makes sure that the level makes a difference to what the command runs.
    fn check(&self, levels: &[Candidate]) -> Result<(), String> {
        let folder = &self.options.folder;
        let names_tree = self.options.command.iter().any(|word| word.contains(TREE_PLACE));
        let trees = |variant: &BuiltVariant| variant.tree.as_os_str() != ".";
        if self.record.variants.iter().any(trees) {
            return match names_tree {
                true => Ok(()),
                false => Err(format!(
                    "the command does not say which tree it runs: write {TREE_PLACE} in it for {}, or measure an assembled tree",
                    folder.join("LEVEL/tree").display()
                )),
            };
        }
        let Some(level) = levels.first() else { return Ok(()) };
        // No launcher has such a level, so each refuses to start anything.
        let unknown = "no-such-level";
        let task = self.task(unknown, &level.level)?;
        let null = OpenOptions::new().write(true).open("/dev/null").map_err(|error| error.to_string())?;
        let streams = Streams { output: &null, errors: &null };
        let (end, _) = process::run(&task, streams, &Stop::default())
            .map_err(|error| format!("{}: {error}", self.options.command.join(" ")))?;
        if end == End::Status(0) {
            return Err(format!(
                "the command starts nothing that {LEVEL} selects: with {LEVEL}={unknown} it succeeds, and no launcher would. \
                 Start a program of {}",
                folder.display()
            ));
        }
        Ok(())
    }

    /// The command of a level, in one string for the engine.
    fn command(&self, level: &str) -> Result<String, String> {
        let variant = self.record.variants.iter().find(|variant| variant.level == level);
        let tree =
            variant.map_or_else(|| self.options.folder.clone(), |it| self.options.folder.join(&it.tree));
        let tree = std::fs::canonicalize(&tree).map_err(|error| format!("{}: {error}", tree.display()))?;
        let words: Vec<String> = self.options.command.iter().map(|word| filled(word, &tree, level)).collect();
        if let ([only], true) = (words.as_slice(), self.options.trial.shell != "none") {
            return Ok(only.clone());
        }
        shlex::try_join(words.iter().map(String::as_str)).map_err(|error| format!("the command: {error}"))
    }

    /// One run of the command as it is started for `named`, with another level in its environment.
    fn task(&self, level: &str, named: &str) -> Result<Task, String> {
        let trial = &self.options.trial;
        let command = self.command(named)?;
        let shell = match trial.shell.as_str() {
            "none" => None,
            shell => {
                Some(shlex::split(shell).ok_or_else(|| format!("--shell {shell:?}: a quote is not closed"))?)
            }
        };
        let words = match shell {
            Some(shell) => shell.into_iter().chain(["-c".to_owned(), command]).collect(),
            None => shlex::split(&command).unwrap_or_default(),
        };
        Ok(Task {
            words: words.into_iter().map(Into::into).collect(),
            env: vec![(LEVEL.into(), level.into())],
            folder: trial.cwd.clone(),
            input: trial.input.clone(),
            ..Task::default()
        })
    }

    /// Compares two levels; `None` where somebody interrupted it.
    fn compare(&self, a: &str, b: &str) -> Result<Option<Step>, Failure> {
        let trial: Trial = self.options.trial.clone();
        let compare = Compare {
            a: Some(self.command(a).map_err(Failure::Message)?),
            b: Some(self.command(b).map_err(Failure::Message)?),
            env_a: vec![format!("{LEVEL}={a}")],
            env_b: vec![format!("{LEVEL}={b}")],
            ..Compare::of(trial, self.options.progress)
        };
        let Ran { document, interrupted, fault, .. } = run_commands(&compare)?;
        if interrupted {
            return Ok(None);
        }
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
        Ok(Some(Step {
            level: b.to_owned(),
            against: a.to_owned(),
            gain,
            headline: first.map(headline).unwrap_or_default(),
            document: json::whole(&document),
        }))
    }
}

fn filled(word: &str, tree: &Path, level: &str) -> String {
    word.replace(TREE_PLACE, &tree.display().to_string()).replace(LEVEL_PLACE, level)
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
                json!({"level": step.level, "against": step.against, "outcome": gain, "comparison": step.document})
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
    if !options.dry_run {
        let place = options.folder.join(deburr_pack::record::FILE);
        writeln!(out, "{}: written; the next deburr pack assemble follows it", place.display())?;
    }
    Ok(())
}

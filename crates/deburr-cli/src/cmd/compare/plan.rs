//! The options of `deburr compare` → what is to be run, and the header of its record.
//!
//! In: [`Compare`], or the header of a record. Out: a [`ComparePlan`]: one experiment for each value that is
//! swept over, the metrics, and the header.

use super::metric::{self, ChosenMetric};
use super::words::{self, Words};
use crate::args::compare::sweep::{Sweep, Values};
use crate::args::compare::{Compare, PAIRS};
use crate::cmd::by_function::Sampler;
use crate::output;
use deburr_lab::measure::experiment::{Experiment, Relink, When};
use deburr_lab::measure::layouts::Extent;
use deburr_lab::measure::machine::{self, Cpus, Gate};
use deburr_lab::measure::process::Task;
use deburr_lab::measure::record::{FORMAT, Header};
use deburr_lab::measure::server::{Service, free_ports};
use deburr_text::ShownPath as _;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

/// Processors that others may keep busy when a run begins, and how long is waited for that.
const GATE: Gate = Gate { most: 0.25, patience: Duration::from_secs(5) };

/// How often each layout is measured: often enough that noise is distinguished from placement.
const ROUNDS: u32 = 3;

/// What is to be done.
pub(super) struct ComparePlan {
    /// One for each value that is swept over, or one.
    pub(super) experiments: Vec<Experiment>,
    pub(super) chosen: Vec<ChosenMetric>,
    /// What is swept over.
    pub(super) sweep: Option<Sweep>,
    /// The layouts of A that are measured before all pairs.
    pub(super) layouts: Option<Extent>,
    pub(super) header: Header,
    /// Before and after everything else.
    pub(super) setup: Option<Task>,
    pub(super) cleanup: Option<Task>,
    /// Samples both sides afterwards, where that is wanted.
    pub(super) sampler: Option<Sampler>,
}

/// Two commands that are compared, of all that are given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contest<'o> {
    /// Those of A and B.
    pub(super) commands: [&'o str; 2],
    /// What the user calls them.
    pub(super) names: [Option<&'o str>; 2],
    /// How many comparisons there are, which share the error.
    pub(super) of: usize,
}

/// What is compared with what: each further command with A, or each two.
pub(super) fn contests(options: &Compare) -> Result<Vec<Contest<'_>>, String> {
    let commands: Vec<&str> = match (&options.aa, &options.client, &options.a) {
        (Some(both), ..) | (None, Some(both), _) => vec![both, both],
        (None, None, Some(a)) => [a].into_iter().chain(&options.b).map(String::as_str).collect(),
        (None, None, None) => Vec::new(),
    };
    if commands.len() < 2 {
        return Err("give --a and --b, --aa, --client, or --values".to_owned());
    }
    if options.name.len() > commands.len() {
        return Err(format!("--name: {} names for {} commands", options.name.len(), commands.len()));
    }
    let name = |index: usize| options.name.get(index).map(String::as_str);
    let last_first = if options.all_pairs { commands.len() - 1 } else { 1 };
    let places = (0..last_first).flat_map(|a| (a + 1..commands.len()).map(move |b| [a, b]));
    let places: Vec<[usize; 2]> = places.collect();
    let (of, commands) = (places.len(), &commands);
    let contest = |both: &[usize; 2]| Contest {
        commands: both.map(|index| commands.get(index).copied().unwrap_or_default()),
        names: both.map(name),
        of,
    };
    Ok(places.iter().map(contest).collect())
}

/// Reads the options, as far as they are of one comparison.
pub(super) fn plan(options: &Compare, contest: &Contest<'_>, seed: u64) -> Result<ComparePlan, String> {
    let commands = contest.commands;
    let chosen = metrics(options)?;
    let sweep = Sweep::new(&options.param)?;
    if let Some(name) = words::unused(options) {
        return Err(format!("--param {name}: no command has {{{name}}} in it"));
    }
    if options.relink.is_some()
        && options.client.is_some()
        && !options.alternate
        && options.layout_floor.is_none()
    {
        return Err("--relink: servers that run all the time cannot be linked before each run: add --alternate, or --layout-floor".to_owned());
    }
    if let Some(folder) = &options.trial.output {
        output::folder(folder).map_err(|error| format!("--output {error}"))?;
    }
    let ports = match options.client {
        Some(_) => free_ports().map_err(|error| format!("a port: {error}"))?.map(Some),
        None => [None; 2],
    };
    let points = sweep.as_ref().map_or_else(|| vec![Values::default()], Sweep::points);
    let experiments = points.iter().map(|values| experiment(options, commands, ports, values, seed, &chosen));
    let once = Values::default();
    let words = Words { options, port: None, values: &once };
    let sampler = options.by_function.then(Sampler::find).transpose();
    let mut experiments = experiments.collect::<Result<Vec<Experiment>, String>>()?;
    if let Some(seconds) = options.trial.max_time {
        let share = seconds / points.len() as f64;
        experiments.iter_mut().for_each(|one| one.gate = one.gate.map(|gate| gate.within(share)));
    }
    Ok(ComparePlan {
        experiments,
        header: header(options, contest, seed, &chosen),
        setup: words.optional("--setup", &options.trial.setup)?,
        cleanup: words.optional("--cleanup", &options.trial.cleanup)?,
        sweep,
        layouts: options.layout_floor.map(extent),
        sampler: sampler.map_err(|reason| format!("--by-function: {reason}"))?,
        chosen,
    })
}

fn extent(layouts: u32) -> Extent {
    Extent { layouts, rounds: ROUNDS }
}

impl ComparePlan {
    /// What was done, by the header of its record: nothing is left to be run.
    pub(super) fn of_record(header: Header) -> Result<ComparePlan, String> {
        let option = |name: &str| header.options.get(name);
        let unknown = |name: &str, text: &str| format!("{name} {text:?}: nothing that this version knows");
        let sweep =
            option("param").map(|text| text.parse().map_err(|_| unknown("param", text))).transpose()?;
        let layouts = option("layout-floor")
            .map(|text| text.parse().map_err(|_| unknown("layout-floor", text)))
            .transpose()?;
        let read = |(name, text): &(String, String)| {
            let known = metric::parse(text).unwrap_or_default();
            let named = known.into_iter().find(|metric| metric.question.name == *name);
            named.ok_or_else(|| unknown("metric", text))
        };
        let chosen = header.metrics.iter().map(read).collect::<Result<Vec<ChosenMetric>, String>>()?;
        if chosen.is_empty() {
            return Err("it names no metric".to_owned());
        }
        Ok(ComparePlan {
            experiments: Vec::new(),
            chosen,
            sweep,
            layouts: layouts.map(extent),
            header,
            setup: None,
            cleanup: None,
            sampler: None,
        })
    }

    /// What the user calls the sides; empty where they have no name.
    pub(super) fn names(&self) -> [String; 2] {
        let mut names = self.header.options.get("names").map_or("", String::as_str).split('\n');
        [(); 2].map(|()| names.next().unwrap_or_default().to_owned())
    }

    /// Whether an option that the numbers depend on was given.
    pub(super) fn has(&self, option: &str) -> bool {
        self.header.options.contains_key(option)
    }
}

fn metrics(options: &Compare) -> Result<Vec<ChosenMetric>, String> {
    let names: Vec<&str> = match options.trial.metric.is_empty() {
        true => vec!["wall"],
        false => options.trial.metric.iter().map(String::as_str).collect(),
    };
    let chosen =
        names.into_iter().map(metric::parse).collect::<Result<Vec<Vec<ChosenMetric>>, String>>()?.concat();
    let name = |chosen: &ChosenMetric| chosen.question.name.clone();
    if let Some(other) = chosen.iter().find(|one| one.feels_load())
        && let Some(one) = chosen.iter().find(|one| !one.feels_load())
    {
        let (one, other) = (name(one), name(other));
        return Err(format!(
            "--metric {one}: under valgrind a run is another one: measure {other} by itself"
        ));
    }
    let counted = chosen.iter().find(|one| !one.feels_load() || one.metric.event().is_some());
    if let Some(counted) = counted.filter(|_| options.client.is_some()) {
        return Err(format!("--metric {}: it would be the client's, not the servers'", name(counted)));
    }
    for (index, one) in chosen.iter().enumerate() {
        if chosen.iter().take(index).any(|other| other.question.name == one.question.name) {
            return Err(format!("--metric {}: given twice", one.question.name));
        }
        if options.layout_floor.is_some() && one.percentile.is_some() {
            return Err(format!(
                "--metric {}: --layout-floor measures no percentiles of layouts",
                one.question.name
            ));
        }
    }
    Ok(chosen)
}

/// What is measured at one value of what is swept over.
fn experiment(
    options: &Compare,
    commands: [&str; 2],
    ports: [Option<u16>; 2],
    values: &Values,
    seed: u64,
    chosen: &[ChosenMetric],
) -> Result<Experiment, String> {
    let words = ports.map(|port| Words { options, port, values });
    let [mut a, mut b] = [words[0].task("--a", commands[0])?, words[1].task("--b", commands[1])?];
    a.env.extend(environment("--env-a", &options.env_a)?);
    b.env.extend(environment("--env-b", &options.env_b)?);
    for side in [&mut a, &mut b] {
        side.input.clone_from(&options.trial.input);
        side.cpus.clone_from(&options.trial.pin);
        side.counted = chosen.iter().filter_map(|chosen| chosen.metric.event()).collect();
        side.timeout = options.trial.timeout.map(|seconds| duration("--timeout", seconds)).transpose()?;
    }
    let patience = duration("--ready-timeout", options.ready_timeout)?;
    let service = |words: &Words<'_>, what: &str, command: &Option<String>, client: &Task| {
        let (task, ready) = (words.optional(what, command)?, words.optional("--ready", &options.ready)?);
        let service = |(task, ready)| {
            let (env, cpus) = (client.env.clone(), client.cpus.clone());
            Service { task: Task { env, cpus, ..task }, ready, patience }
        };
        Ok::<_, String>(task.zip(ready).map(service))
    };
    let services = service(&words[0], "--server-a", &options.server_a, &a)?
        .zip(service(&words[1], "--server-b", &options.server_b, &b)?)
        .map(|(a, b)| [a, b]);
    let words = Words { options, port: None, values };
    let when = if options.layout_floor.is_some() { When::Once } else { When::EachRun };
    let relink = words.optional("--relink", &options.relink)?.map(|task| Relink { task, when });
    Ok(Experiment {
        tasks: [a, b],
        services,
        alternates: options.alternate,
        point: values.label(),
        seed,
        warm_ups: options.trial.warmup,
        gate: is_gated(options, chosen).then_some(GATE),
        prepare: words.optional("--prepare", &options.trial.prepare)?,
        relink,
        metrics: chosen.iter().map(|chosen| chosen.metric.clone()).collect(),
        keeps: options.trial.output.clone(),
        ignores_failure: options.trial.ignore_failure,
    })
}

/// Whether runs wait for a quiet machine.
fn is_gated(options: &Compare, chosen: &[ChosenMetric]) -> bool {
    !options.trial.no_gate && !options.trial.under_load && chosen.iter().any(ChosenMetric::feels_load)
}

/// Pairs at most, where nobody says how many.
fn usual_pairs(chosen: &[ChosenMetric]) -> u32 {
    /// What hardly any noise is in needs few more than the fewest that prove a difference.
    const WITHOUT_NOISE: u32 = 12;
    match chosen.first() {
        Some(first) if !first.feels_load() => WITHOUT_NOISE,
        Some(first) => PAIRS * first.block() as u32,
        None => PAIRS,
    }
}

fn duration(what: &str, seconds: f64) -> Result<Duration, String> {
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| format!("{what} {seconds}: expected seconds"))
}

fn header(options: &Compare, contest: &Contest<'_>, seed: u64, chosen: &[ChosenMetric]) -> Header {
    let commands = contest.commands;
    let names = contest.names.map(Option::unwrap_or_default);
    let list = |all: &[String]| (!all.is_empty()).then(|| all.join("\n"));
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.shown().into_owned());
    let flag = |is_set: bool| is_set.then(|| "yes".to_owned());
    let given = [
        ("aa", flag(options.aa.is_some())),
        ("setup", options.trial.setup.clone()),
        ("prepare", options.trial.prepare.clone()),
        ("relink", options.relink.clone()),
        ("layout-floor", options.layout_floor.map(|layouts| layouts.to_string())),
        ("cwd", path(&options.trial.cwd)),
        ("env-a", list(&options.env_a)),
        ("env-b", list(&options.env_b)),
        ("input", path(&options.trial.input)),
        ("output", flag(options.trial.output.is_some())),
        ("pin", options.trial.pin.as_ref().map(Cpus::to_string)),
        ("timeout", options.trial.timeout.map(|seconds| seconds.to_string())),
        ("shell", Some(options.trial.shell.clone())),
        ("no-gate", flag(options.trial.no_gate)),
        ("ready", options.ready.clone()),
        ("alternate", flag(options.alternate)),
        ("param", Sweep::new(&options.param).ok().flatten().map(|sweep| sweep.to_string())),
        ("names", names.iter().any(|name| !name.is_empty()).then(|| names.join("\n"))),
        ("comparisons", (contest.of > 1).then(|| contest.of.to_string())),
        ("min-pairs", options.trial.min_pairs.map(|pairs| pairs.to_string())),
        ("max-time", options.trial.max_time.map(|seconds| seconds.to_string())),
        ("warmup", (options.trial.warmup != 1).then(|| options.trial.warmup.to_string())),
        ("under-load", flag(options.trial.under_load)),
        ("ignore-failure", flag(options.trial.ignore_failure)),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Header {
        format: FORMAT,
        tool: format!("deburr {}", env!("CARGO_PKG_VERSION")),
        commands: match (&options.server_a, &options.server_b) {
            (Some(a), Some(b)) => [a, b].map(|server| format!("{server}; client: {}", commands[0])),
            _ => commands.map(str::to_owned),
        },
        seed,
        metrics: chosen.iter().map(|chosen| (chosen.question.name.clone(), chosen.text.clone())).collect(),
        cores: options.trial.pin.as_ref().map_or_else(machine::cores, Cpus::count),
        pairs: Some(options.trial.pairs.unwrap_or_else(|| usual_pairs(chosen))),
        options: given.collect::<BTreeMap<String, String>>(),
        // Known once the record begins.
        provenance: None,
    }
}

fn environment(what: &str, given: &[String]) -> Result<Vec<(OsString, OsString)>, String> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty())?;
        Some((name.into(), value.into()))
    };
    given
        .iter()
        .map(|text| pair(text).ok_or_else(|| format!("{what} {text:?}: expected NAME=VALUE")))
        .collect()
}

//! The options of `deburr compare` → what is to be run, and what its record is headed by.

use super::metric::{self, Asked};
use crate::args::compare::Compare;
use deburr_lab::measure::experiment::Experiment;
use deburr_lab::measure::machine::{self, Cpus, Gate};
use deburr_lab::measure::process::Task;
use deburr_lab::measure::record::{FORMAT, Header};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

/// Processors that others may keep busy when a run begins, and how long is waited for that.
const GATE: Gate = Gate { most: 0.25, patience: Duration::from_secs(5) };

/// What is to be done.
pub(super) struct Plan {
    pub(super) experiment: Experiment,
    pub(super) asked: Vec<Asked>,
    pub(super) header: Header,
    /// Before and after everything else.
    pub(super) setup: Option<Task>,
    pub(super) cleanup: Option<Task>,
}

/// Reads the options; `commands` are those of A and B.
pub(super) fn plan(options: &Compare, commands: [&str; 2], seed: u64) -> Result<Plan, String> {
    let names: Vec<&str> = match options.metric.is_empty() {
        true => vec!["wall"],
        false => options.metric.iter().map(String::as_str).collect(),
    };
    let asked = names.into_iter().map(metric::parse).collect::<Result<Vec<Asked>, String>>()?;
    for (index, one) in asked.iter().enumerate() {
        if asked.iter().take(index).any(|other| other.question.name == one.question.name) {
            return Err(format!("--metric {}: given twice", one.question.name));
        }
    }
    let task = |what: &str, command: &str| task(options, what, command);
    let optional = |what: &str, command: &Option<String>| {
        command.as_ref().map(|command| task(what, command)).transpose()
    };
    let [mut a, mut b] = [task("--a", commands[0])?, task("--b", commands[1])?];
    a.env = environment("--env-a", &options.env_a)?;
    b.env = environment("--env-b", &options.env_b)?;
    for side in [&mut a, &mut b] {
        side.input.clone_from(&options.input);
        side.cpus.clone_from(&options.pin);
        side.timeout = match options.timeout {
            Some(seconds) => Some(
                Duration::try_from_secs_f64(seconds)
                    .ok()
                    .filter(|timeout| !timeout.is_zero())
                    .ok_or_else(|| format!("--timeout {seconds}: expected seconds"))?,
            ),
            None => None,
        };
    }
    let prepare = [("--prepare", &options.prepare), ("--relink", &options.relink)];
    let prepare = prepare.map(|(what, command)| optional(what, command));
    let prepare = prepare.into_iter().collect::<Result<Vec<Option<Task>>, String>>()?;
    Ok(Plan {
        experiment: Experiment {
            tasks: [a, b],
            seed,
            warm_ups: 1,
            gate: (!options.no_gate).then_some(GATE),
            prepare: prepare.into_iter().flatten().collect(),
            metrics: asked.iter().map(|asked| asked.metric.clone()).collect(),
            ignores_failure: options.ignore_failure,
        },
        header: header(options, commands, seed, &asked),
        setup: optional("--setup", &options.setup)?,
        cleanup: optional("--cleanup", &options.cleanup)?,
        asked,
    })
}

fn header(options: &Compare, commands: [&str; 2], seed: u64, asked: &[Asked]) -> Header {
    let list = |all: &[String]| (!all.is_empty()).then(|| all.join(" "));
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let flag = |is_set: bool| is_set.then(|| "yes".to_owned());
    let given = [
        ("prepare", options.prepare.clone()),
        ("relink", options.relink.clone()),
        ("cwd", path(&options.cwd)),
        ("env-a", list(&options.env_a)),
        ("env-b", list(&options.env_b)),
        ("input", path(&options.input)),
        ("pin", options.pin.as_ref().map(|cpus| format!("{cpus:?}"))),
        ("timeout", options.timeout.map(|seconds| seconds.to_string())),
        ("shell", Some(options.shell.clone())),
        ("no-gate", flag(options.no_gate)),
        ("ignore-failure", flag(options.ignore_failure)),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Header {
        format: FORMAT,
        tool: format!("deburr {}", env!("CARGO_PKG_VERSION")),
        commands: commands.map(str::to_owned),
        seed,
        metrics: asked.iter().map(|asked| (asked.question.name.clone(), asked.text.clone())).collect(),
        cores: options.pin.as_ref().map_or_else(machine::cores, Cpus::count),
        options: given.collect::<BTreeMap<String, String>>(),
    }
}

/// A command as it is to be run: by a shell, or by itself.
fn task(options: &Compare, what: &str, command: &str) -> Result<Task, String> {
    let words: Vec<OsString> = match options.shell.as_str() {
        "none" => {
            let words =
                shlex::split(command).ok_or_else(|| format!("{what} {command:?}: a quote is not closed"))?;
            words.into_iter().map(OsString::from).collect()
        }
        shell => {
            let shell = shlex::split(shell).filter(|words| !words.is_empty());
            let shell =
                shell.ok_or_else(|| format!("--shell {:?}: expected a shell, or none", options.shell))?;
            shell.into_iter().chain(["-c".to_owned(), command.to_owned()]).map(OsString::from).collect()
        }
    };
    if words.is_empty() {
        return Err(format!("{what}: an empty command"));
    }
    Ok(Task { words, folder: options.cwd.clone(), ..Task::default() })
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

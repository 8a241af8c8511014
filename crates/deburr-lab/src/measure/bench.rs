//! Measuring stage: one run of an experiment.
//!
//! In: whose run it is. Out: what it took and what was read of it, in the record before anybody else sees it.
//! What prepares a run comes first, then the gate that waits for a quiet machine. A run that fails, or lacks
//! a number, ends the experiment: there is no verdict on what did not work.

use super::experiment::{Experiment, Failure, When};
use super::machine::{self, Busy, Company, Gate};
use super::metric::{self, Metric, Source, Taken};
use super::process::{self, End, Streams, Task};
use super::record::{Record, RecordedRun};
use super::server::{Server, ServerError};
use super::stop::Stop;
use super::valgrind;
use crate::side::Side;
use rustix::fs::{MemfdFlags, memfd_create};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes at most that are read of each stream that a run prints to.
const MOST_TEXT: u64 = 64 << 20;
/// Bytes of what a failed run printed that are quoted.
const TOLD: u64 = 2000;

/// What runs are made with.
pub(super) struct Bench<'e> {
    experiment: &'e Experiment,
    record: &'e mut Record,
    stop: &'e Stop,
    /// The servers of A and B that run now.
    servers: [Option<Server>; 2],
    /// The next one.
    gate: Option<Gate>,
    /// What the last runs saw of the machine.
    company: Company,
    /// Whether a metric is in what runs print.
    is_read: bool,
    /// Where runs print to.
    output: File,
    errors: File,
}

impl<'e> Bench<'e> {
    pub(super) fn new(
        experiment: &'e Experiment,
        record: &'e mut Record,
        stop: &'e Stop,
    ) -> Result<Bench<'e>, Failure> {
        // What is not read goes nowhere, the rest to a file in memory, since a disk would be measured with
        // it.
        let file = |is_wanted: bool| match is_wanted {
            true => memfd_create("deburr", MemfdFlags::CLOEXEC).map(File::from).map_err(io::Error::from),
            false => OpenOptions::new().write(true).open("/dev/null"),
        };
        let is_read = experiment.metrics.iter().any(Metric::is_printed);
        let [output, errors] = [file(is_read || experiment.keeps.is_some()), file(true)].map(|file| {
            file.map_err(|error| Failure::Start { what: "a place for output".to_owned(), error })
        });
        Ok(Bench {
            experiment,
            record,
            stop,
            servers: [None, None],
            gate: experiment.gate,
            company: Company::default(),
            is_read,
            output: output?,
            errors: errors?,
        })
    }

    /// Makes the run that `run` describes, with what comes before it, and its server where that does not run
    /// all the time. `layout`: the seed of its layout; `waits` gets how many processors are busy while a quiet
    /// machine is waited for, and `None` when that is over. `None`: somebody wanted to stop.
    pub(super) fn run(
        &mut self,
        run: RecordedRun,
        layout: u32,
        waits: &mut dyn FnMut(Option<f64>),
    ) -> Result<Option<RecordedRun>, Failure> {
        let is_ready = self.prepare(run.side)? && self.link(run.side, layout, When::EachRun)?;
        if !is_ready || self.stop.is_wanted() {
            return Ok(None);
        }
        if self.experiment.alternates && !self.start(run.side)? {
            return Ok(None);
        }
        let cpus = self.experiment.tasks[run.side.index()].cpus.as_ref();
        let (waited, is_quiet) = match self.gate {
            Some(gate) if !self.company.is_below(gate.most) => gate.wait(cpus, self.stop, waits),
            _ => (0.0, true),
        };
        waits(None);
        if self.stop.is_wanted() {
            return Ok(None);
        }
        self.gate = if is_quiet { self.experiment.gate } else { self.gate.map(Gate::less_patient) };
        let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let point = self.experiment.point.clone();
        let run = self.measure(RecordedRun { point, began, waited, is_ungated: !is_quiet, ..run });
        if self.experiment.alternates {
            self.servers = [None, None];
        }
        run
    }

    /// Starts the servers that run all the time; `false`: somebody wanted to stop.
    pub(super) fn serve(&mut self) -> Result<bool, Failure> {
        Ok(self.experiment.alternates || self.start(Side::A)? && self.start(Side::B)?)
    }

    /// Starts the server of a side, if it has one; `false`: somebody wanted to stop.
    fn start(&mut self, side: Side) -> Result<bool, Failure> {
        let Some(services) = &self.experiment.services else { return Ok(true) };
        match Server::start(&services[side.index()], self.stop) {
            Ok(server) => self.servers[side.index()] = Some(server),
            Err(ServerError::Interrupted) => return Ok(false),
            Err(error) => return Err(Failure::Server { side, error }),
        }
        Ok(true)
    }

    /// CPU time that the server of a side has used so far.
    fn served(&self, side: Side) -> Option<f64> {
        self.servers[side.index()].as_ref()?.cpu_time()
    }

    /// Gives a side another layout, if that is to be done now; `false`: somebody wanted to stop.
    pub(super) fn link(&mut self, side: Side, seed: u32, now: When) -> Result<bool, Failure> {
        let Some(relink) = self.experiment.relink.as_ref().filter(|relink| relink.when == now) else {
            return Ok(true);
        };
        let mut task = relink.task.clone();
        task.env.push(("DEBURR_LAYOUT_SEED".into(), seed.to_string().into()));
        self.before(task, side, &format!("what links {side}"))
    }

    /// Runs what prepares a run; `false`: somebody wanted to stop.
    fn prepare(&mut self, side: Side) -> Result<bool, Failure> {
        let Some(task) = self.experiment.prepare.clone() else { return Ok(true) };
        self.before(task, side, &format!("what prepares a run of {side}"))
    }

    fn before(&mut self, task: Task, side: Side, what: &str) -> Result<bool, Failure> {
        let task = told_side(task, side);
        let stop = self.stop;
        let ended = self.streams().and_then(|streams| process::run(&task, streams, stop));
        match ended.map_err(|error| Failure::Start { what: what.to_owned(), error })?.0 {
            End::Status(0) => Ok(true),
            End::Interrupted => Ok(false),
            end => Err(Failure::Before { what: what.to_owned(), end, text: self.tail() }),
        }
    }

    /// Makes a run, and writes it down. `None`: somebody wanted to stop.
    fn measure(&mut self, mut run: RecordedRun) -> Result<Option<RecordedRun>, Failure> {
        let experiment = self.experiment;
        let what = match (run.is_warm_up, run.layout) {
            (true, _) => format!("the warm-up run of {}", run.side),
            (false, Some(layout)) => {
                format!("{} at layout {} in round {}", run.side, layout + 1, run.pair + 1)
            }
            (false, None) => format!("{} in pair {}", run.side, run.pair + 1),
        };
        // Looking through all processes keeps one busy, too.
        let served = self.served(run.side);
        let task = &experiment.tasks[run.side.index()];
        let counts_instructions =
            experiment.metrics.iter().any(|metric| matches!(metric.source, Source::ValgrindInstructions));
        let logs = counts_instructions.then(tempfile::tempdir).transpose();
        let logs = logs.map_err(|error| Failure::Start { what: "a place for counts".to_owned(), error })?;
        let task = match &logs {
            Some(logs) => Cow::Owned(valgrind::under(task, logs.path())),
            None => Cow::Borrowed(task),
        };
        let (before, queued) = (Busy::now(task.cpus.as_ref()), machine::queues());
        let stop = self.stop;
        let ended = self.streams().and_then(|streams| process::run_alone(&task, streams, stop));
        let during = Busy::now(task.cpus.as_ref()).zip(before).map(|(now, before)| now.since(before));
        let queues = machine::queues().zip(queued).map(|(now, before)| now - before);
        run.queues = queues.filter(|queues| *queues >= 0.0);
        let ran = ended.map_err(|error| Failure::Start { what: what.clone(), error })?;
        let (end, usage) = (ran.end, ran.usage);
        (run.end, run.usage, run.leftovers) = (end, usage, ran.leftovers);
        run.counted = ran.counts.iter().map(|count| count.share).reduce(f64::min);
        (run.busy, run.stolen) =
            (during.and_then(|during| during.busy), during.and_then(|during| during.stolen));
        if experiment.services.is_some() {
            run.is_client = true;
            // Less than before: something left it that was not waited for.
            let served = self.served(run.side).zip(served).map(|(now, before)| now - before);
            run.served = served.filter(|served| *served >= 0.0);
            // What else the machine did is known only where it is known how much of it its server was.
            run.busy = run.busy.filter(|_| run.served.is_some());
        }
        let own = usage.user + usage.system + run.served.unwrap_or_default();
        self.company.saw(usage.wall, run.busy.map(|busy| (busy - own).max(0.0)));
        let is_good = match end {
            End::Status(status) => status == 0 || experiment.ignores_failure,
            End::Signal(_) | End::TimedOut | End::Interrupted => false,
        };
        // What its server did explains what the client did.
        let gone = if end == End::Interrupted { None } else { self.gone() };
        let mut failure =
            gone.or_else(|| (!is_good).then(|| Failure::Run { what: what.clone(), end, text: self.tail() }));
        // What is not read may hold a number once more.
        if failure.is_none() && self.is_read && self.is_too_long() {
            failure = Some(Failure::TooLong { what: what.clone(), most: MOST_TEXT });
        }
        if failure.is_none() {
            let text = if self.is_read { self.text() } else { String::new() };
            let instructions = logs.map(|logs| valgrind::instructions(logs.path())).transpose();
            let instructions = instructions
                .map_err(|error| Failure::Start { what: "what valgrind counted".to_owned(), error })?;
            let taken = Taken { usage: &usage, counts: &ran.counts, instructions: instructions.flatten() };
            let numbers = metric::read_all(&experiment.metrics, &taken, &text);
            for (metric, number) in experiment.metrics.iter().zip(numbers) {
                match number {
                    Ok(number) => _ = run.metrics.insert(metric.name.clone(), number),
                    Err(why) => {
                        let (what, metric, text) = (what.clone(), metric.name.clone(), self.tail());
                        failure.get_or_insert(Failure::Metric { what, metric, why, text });
                    }
                }
            }
        }
        run.fault =
            failure.as_ref().map(|failure| failure.to_string().lines().next().unwrap_or_default().to_owned());
        self.record.add(&run)?;
        self.keep(&run)?;
        match failure {
            Some(Failure::Run { end: End::Interrupted, .. }) => Ok(None),
            Some(failure) => Err(failure),
            None => Ok(Some(run)),
        }
    }

    /// A server that is no longer there.
    fn gone(&mut self) -> Option<Failure> {
        Side::BOTH.into_iter().find_map(|side| {
            let error = self.servers[side.index()].as_mut()?.still_serves().err()?;
            Some(Failure::Server { side, error })
        })
    }

    /// Whether the last run printed more than is read.
    fn is_too_long(&self) -> bool {
        [&self.output, &self.errors].into_iter().any(|file| length(file) > MOST_TEXT)
    }

    /// What the next run prints to, emptied.
    fn streams(&mut self) -> io::Result<Streams<'_>> {
        for file in [&mut self.output, &mut self.errors] {
            // A device has no length.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
                file.rewind()?;
            }
        }
        Ok(Streams { output: &self.output, errors: &self.errors })
    }

    /// Copies what the last run printed to where it is kept.
    fn keep(&mut self, run: &RecordedRun) -> Result<(), Failure> {
        let Some(folder) = &self.experiment.keeps else { return Ok(()) };
        for (file, suffix) in [(&mut self.output, "out"), (&mut self.errors, "err")] {
            let path = folder.join(format!("{}.{suffix}", name(run)));
            let copied = file.rewind().and_then(|()| io::copy(file, &mut File::create(&path)?));
            copied.map_err(|error| Failure::Keep { path, error })?;
        }
        Ok(())
    }

    /// What the last run printed, standard output first.
    fn text(&mut self) -> String {
        let mut text = Vec::new();
        for file in [&mut self.output, &mut self.errors] {
            // Nothing can be read of a device that is written to only.
            let _ = file.rewind().and_then(|()| file.read_to_end(&mut text));
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The end of what the last run printed, for a terminal.
    fn tail(&mut self) -> String {
        tail([&mut self.output, &mut self.errors])
    }
}

/// A task that comes before a run, with the side of that run in its environment.
pub(crate) fn told_side(mut task: Task, side: Side) -> Task {
    task.env.push(("DEBURR_SIDE".into(), side.to_string().to_lowercase().into()));
    task
}

/// The end of what was printed to some files, for a terminal.
pub(crate) fn tail<'f>(files: impl IntoIterator<Item = &'f mut File>) -> String {
    let mut tail = Vec::new();
    for file in files {
        let from = io::SeekFrom::Start(length(file).saturating_sub(TOLD));
        let _ = file.seek(from).and_then(|_| file.read_to_end(&mut tail));
    }
    let from = tail.len().saturating_sub(TOLD as usize);
    // It may begin inside of a character.
    let text = String::from_utf8_lossy(tail.get(from..).unwrap_or_default());
    deburr_text::lines(&text.trim_start_matches(char::REPLACEMENT_CHARACTER).replace('\t', "    "))
        .into_owned()
}

fn length(file: &File) -> u64 {
    file.metadata().map_or(0, |metadata| metadata.len())
}

/// What the files of a run are called: `8-pair-3-a`, where 8 is swept over, `warm-up-b`,
/// `round-1-layout-7-a`.
fn name(run: &RecordedRun) -> String {
    let mut parts = Vec::new();
    if !run.point.is_empty() {
        parts.push(run.point.clone());
    }
    match (run.is_warm_up, run.layout) {
        (true, _) => parts.push("warm-up".to_owned()),
        (false, Some(layout)) => parts.push(format!("round-{}-layout-{}", run.pair + 1, layout + 1)),
        (false, None) => parts.push(format!("pair-{}", run.pair + 1)),
    }
    if run.attempt > 0 {
        parts.push(format!("again-{}", run.attempt));
    }
    parts.push(run.side.to_string().to_lowercase());
    parts.join("-")
}

//! The record of `deburr try`: what runs of commands as one CPU showed, file by file. `deburr schema try` describes it.

use crate::system_error::error_text;
use deburr_core::entered::{EnteredFunction, TrapPlace};
use deburr_core::report::{Answer, Refusal};
use deburr_lab::measure::process::End;
use deburr_text::ShownPath as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The version of the schema; it grows when a field changes its meaning or goes away.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// Records larger than this are none.
const LARGEST: u64 = 1 << 30;

/// What runs as one CPU showed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TryRecord {
    pub(crate) schema_version: u32,
    pub(crate) tool_version: String,
    pub(crate) cpu: TriedCpu,
    pub(crate) runs: Vec<TriedRun>,
    /// The files of which code was entered that have functions above the CPU, or where SIGILL came.
    pub(crate) files: Vec<TriedFile>,
}

/// The CPU that was emulated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TriedCpu {
    /// The level, or the CPU's name.
    pub(crate) name: String,
    pub(crate) arch: String,
    /// The value of qemu's `-cpu`.
    pub(crate) model: String,
    /// qemu's version.
    pub(crate) qemu: String,
    /// What it shows to programs although the level or CPU does not have it.
    pub(crate) besides: Vec<String>,
    /// What the CPU has, and qemu does not emulate.
    pub(crate) lacks: Vec<String>,
}

/// One run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TriedRun {
    pub(crate) command: Vec<String>,
    pub(crate) end: End,
    /// Blocks of instructions that were translated.
    pub(crate) blocks: u64,
    /// Of those, blocks that are in no file: made at run time, or changed.
    pub(crate) blocks_elsewhere: u64,
    /// How often SIGILL came where no file is.
    pub(crate) traps_elsewhere: u64,
    /// Programs that processes went on as outside of the emulation, and how often.
    pub(crate) native: BTreeMap<String, u64>,
    /// Whether the command itself did.
    pub(crate) is_left: bool,
    /// Processes that began and were not seen.
    pub(crate) unseen: u64,
    /// Files of which code was entered, and that could not be analysed, with the reasons.
    pub(crate) not_analysed: BTreeMap<String, String>,
    /// Whether there was more than is kept.
    pub(crate) is_truncated: bool,
}

/// A file of which code was entered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TriedFile {
    pub(crate) path: String,
    pub(crate) build_id: Option<String>,
    /// Of its contents, in hexadecimal digits.
    pub(crate) sha256: String,
    /// The level that it needs, by the analysis.
    pub(crate) level: String,
    /// Whether the CPU runs it, by the analysis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Answer>,
    /// Its functions that need more than the CPU has.
    pub(crate) above: u64,
    /// Runs that entered code of it.
    pub(crate) runs: u64,
    /// Those functions that were entered.
    pub(crate) functions: Vec<TriedFunction>,
    /// What it refused to go on without, where a run took that path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<Refusal>,
    /// Where SIGILL came.
    pub(crate) traps: Vec<TriedTrap>,
}

/// A function that was entered, and needs more than the CPU has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TriedFunction {
    #[serde(flatten)]
    pub(crate) entered: EnteredFunction,
    /// Runs that entered it.
    pub(crate) runs: u64,
}

/// A place of SIGILL.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TriedTrap {
    #[serde(flatten)]
    pub(crate) place: TrapPlace,
    /// How often it came.
    pub(crate) count: u64,
    /// How many processes it ended.
    pub(crate) deaths: u64,
}

impl TryRecord {
    /// Reads a record.
    ///
    /// # Errors
    /// With the path, for people.
    pub(crate) fn read(path: &Path) -> Result<TryRecord, String> {
        let fault = |reason: String| format!("{}: {reason}", path.shown());
        let metadata = fs::metadata(path).map_err(|error| fault(error_text(&error)))?;
        if metadata.len() > LARGEST {
            return Err(fault(format!("no record of deburr try: {} bytes", metadata.len())));
        }
        let bytes = fs::read(path).map_err(|error| fault(error_text(&error)))?;
        let record: TryRecord = serde_json::from_slice(&bytes)
            .map_err(|error| fault(format!("no record of deburr try: {error}")))?;
        match record.schema_version {
            SCHEMA_VERSION => Ok(record),
            other => Err(fault(format!("a record of version {other}; this deburr reads {SCHEMA_VERSION}"))),
        }
    }

    /// Adds the runs of a later record.
    ///
    /// # Errors
    /// Where it is of another CPU.
    pub(crate) fn add(&mut self, later: TryRecord) -> Result<(), String> {
        if self.cpu != later.cpu {
            let described = |cpu: &TriedCpu| format!("{}, by qemu {} as {}", cpu.name, cpu.qemu, cpu.model);
            let (own, other) = (described(&self.cpu), described(&later.cpu));
            return Err(format!("it has runs as {own}; this one was as {other}: give another file"));
        }
        self.tool_version = later.tool_version;
        self.runs.extend(later.runs);
        for file in later.files {
            match self.files.iter_mut().find(|own| own.sha256 == file.sha256) {
                Some(own) => own.add(file),
                None => self.files.push(file),
            }
        }
        Ok(())
    }
}

impl TriedFile {
    fn add(&mut self, later: TriedFile) {
        self.runs += later.runs;
        self.refused = self.refused.take().or(later.refused);
        for function in later.functions {
            let same = |own: &&mut TriedFunction| own.entered.svma == function.entered.svma;
            let Some(own) = self.functions.iter_mut().find(same) else {
                self.functions.push(function);
                continue;
            };
            own.runs += function.runs;
            own.entered.executed = own.entered.executed.max(function.entered.executed);
            own.entered.refused = own.entered.refused.max(function.entered.refused);
        }
        self.functions.sort_by_key(|function| function.entered.svma);
        for trap in later.traps {
            match self.traps.iter_mut().find(|own| own.place.svma == trap.place.svma) {
                Some(own) => {
                    own.count += trap.count;
                    own.deaths += trap.deaths;
                }
                None => self.traps.push(trap),
            }
        }
        self.traps.sort_by_key(|trap| trap.place.svma);
    }

    /// How many processes died in a function, by its address.
    pub(crate) fn deaths_in(&self, svma: deburr_core::report::Hex) -> u64 {
        let own = self.traps.iter().filter(|trap| trap.place.start == Some(svma));
        own.map(|trap| trap.deaths).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cpu: &str, executed: u64, deaths: u64) -> TryRecord {
        let text = format!(
            r#"{{"schema_version":1,"tool_version":"0","cpu":{{"name":"{cpu}","arch":"x86_64","model":"m","qemu":"7","besides":[],"lacks":[]}},
            "runs":[{{"command":["a"],"end":{{"status":0}},"blocks":1,"blocks_elsewhere":0,"traps_elsewhere":0,"native":{{}},"is_left":false,"unseen":0,"not_analysed":{{}},"is_truncated":false}}],
            "files":[{{"path":"/a","build_id":null,"sha256":"00","level":"x86-64-v3","above":2,"runs":1,
            "functions":[{{"function":"f","svma":"0x10","features":["AVX2"],"reach":"unknown","instructions":3,"executed":{executed},"refused":0,"runs":1}}],
            "traps":[{{"svma":"0x12","function":"f","start":"0x10","instruction":"x","features":["AVX2"],"reach":"unknown","count":{deaths},"deaths":{deaths}}}]}}]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn runs_of_one_cpu_add_up_and_those_of_another_do_not() {
        let mut sum = record("x86-64-v2", 0, 1);
        sum.add(record("x86-64-v2", 2, 1)).unwrap();
        let file = &sum.files[0];
        assert_eq!((sum.runs.len(), sum.files.len(), file.runs), (2, 1, 2));
        assert_eq!((file.functions[0].runs, file.functions[0].entered.executed), (2, 2));
        assert_eq!(file.deaths_in(deburr_core::report::Hex(0x10)), 2);
        assert!(sum.add(record("x86-64-v1", 0, 0)).unwrap_err().contains("give another file"));
        assert_eq!(sum.runs.len(), 2);
    }
}

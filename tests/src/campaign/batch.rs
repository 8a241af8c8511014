//! Many programs in one file: built, rewritten, run before and after.
//!
//! In: numbers of programs, and how to link them. Out: for each what became of its site, and whether it left anything else
//! when rewritten. One that dies or hangs ends with a signal, which is a result like others.

use super::pen::Linking;
use super::program::{Program, assembly};
use super::{Around, Kind, Mark};
use crate::rewrite::{emulated, with_lse};
use crate::toolchain::{repository, require, run};
use deburr_core::Svma;
use deburr_patch::{ApplyOptions, Plan, PlanRequest, apply, plan, verify};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const GCC: &str = "aarch64-linux-gnu-gcc";
const OBJCOPY: &str = "aarch64-linux-gnu-objcopy";

/// Programs in one file.
#[derive(Debug)]
pub struct Batch {
    dir: PathBuf,
    linking: Linking,
    programs: Vec<Program>,
    /// The linked file.
    file: PathBuf,
    /// Where each program's site starts.
    sites: BTreeMap<u64, usize>,
    /// Words that must stay as they are, each with its program.
    kept: Vec<(Svma, usize)>,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Programs that were run.
    pub programs: usize,
    /// Those, by kind.
    pub kinds: BTreeMap<Kind, usize>,
    /// Those whose site was rewritten, by kind.
    pub rewritten: BTreeMap<Kind, usize>,
    /// Sites that were not, by reason.
    pub refused: BTreeMap<String, usize>,
    /// In how many programs something was around the site.
    pub around: BTreeMap<Around, usize>,
    /// In how many of those the site was rewritten.
    pub rewritten_around: BTreeMap<Around, usize>,
    /// Programs that do something else when rewritten.
    pub different: Vec<Different>,
    /// Files that were written and then not verified.
    pub contradictions: Vec<String>,
}

/// A program that does something else when it is rewritten.
#[derive(Debug)]
pub struct Different {
    /// The program.
    pub program: Program,
    /// How it was linked.
    pub linking: Linking,
    /// Whether with added space.
    pub trampolines: bool,
    /// What differs.
    pub what: String,
    /// What was written over its site.
    pub written: String,
}

impl Outcome {
    /// Adds what became of another batch.
    pub fn add(&mut self, other: Outcome) {
        self.programs += other.programs;
        sum(&mut self.kinds, other.kinds);
        sum(&mut self.rewritten, other.rewritten);
        sum(&mut self.refused, other.refused);
        sum(&mut self.around, other.around);
        sum(&mut self.rewritten_around, other.rewritten_around);
        self.different.extend(other.different);
        self.contradictions.extend(other.contradictions);
    }
}

fn sum<K: Ord>(sums: &mut BTreeMap<K, usize>, more: BTreeMap<K, usize>) {
    for (key, number) in more {
        *sums.entry(key).or_default() += number;
    }
}

impl Batch {
    /// Writes and links some programs, by number in ascending order, into files of a name.
    ///
    /// # Panics
    /// If a tool is missing or refuses.
    pub fn build(dir: &Path, name: &str, programs: Vec<Program>, linking: Linking) -> Batch {
        require(GCC);
        let dir = dir.join(format!("{name}-{linking:?}"));
        fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        let source = dir.join("programs.s");
        fs::write(&source, assembly(&programs)).expect("the programs");
        let file = dir.join("programs");
        run(linker(linking).arg(&source).arg("-o").arg(&file).arg("-lgcc"));
        let marks = dir.join("marks");
        run(Command::new(OBJCOPY)
            .args(["-O", "binary", "--only-section=.campaign", "--set-section-flags=.campaign=alloc"])
            .args([&file, &marks]));
        run(Command::new(OBJCOPY).args(["--remove-section=.campaign"]).arg(&file));
        let mut batch = Batch { dir, linking, programs, file, sites: BTreeMap::new(), kept: Vec::new() };
        batch.read_marks(&fs::read(marks).expect("the marks"));
        batch
    }

    fn read_marks(&mut self, marks: &[u8]) {
        let (values, _) = marks.as_chunks::<8>();
        for mark in values.as_chunks::<3>().0 {
            let [number, kind, at] = mark.map(u64::from_le_bytes);
            let program = self.index_of(number as usize).expect("a program of this file");
            match kind == Mark::Site as u64 {
                true => drop(self.sites.insert(at, program)),
                false => self.kept.push((Svma(at), program)),
            }
        }
    }

    /// The index of a program by its number.
    fn index_of(&self, number: usize) -> Option<usize> {
        self.programs.binary_search_by_key(&number, |program| program.number).ok()
    }

    /// Rewrites the programs and runs both forms.
    ///
    /// # Panics
    /// If a stage of the rewrite fails, or the original does not run.
    pub fn compare(&self, trampolines: bool) -> Outcome {
        let bytes = fs::read(&self.file).expect("the programs");
        let request = PlanRequest { target: Some(with_lse()), trampolines, ..PlanRequest::default() };
        let plan = plan(&bytes, &request).unwrap_or_else(|error| panic!("{}: {error}", self.file.display()));
        let mut outcome = self.count(&plan);
        if plan.sites.is_empty() {
            return outcome;
        }
        let patched = apply(&bytes, &plan, &ApplyOptions::default()).expect("a plan that can be written");
        let mut differences = self.differences(&patched, trampolines);
        for &(at, program) in &self.kept {
            if plan.sites.iter().any(|site| site.extent().contains(at)) {
                differences.insert(program, format!("what must stay at {at} is rewritten"));
            }
        }
        if let Err(error) = verify(&bytes, &patched) {
            outcome.contradictions.push(format!("{}: {error}", self.file.display()));
        }
        outcome.different = differences
            .into_iter()
            .map(|(program, what)| self.different(program, &plan, trampolines, what))
            .collect();
        outcome
    }

    /// The programs of which a changed file leaves something else, and what.
    ///
    /// # Panics
    /// If either form cannot be run.
    pub fn differences(&self, changed: &[u8], trampolines: bool) -> BTreeMap<usize, String> {
        let file = self.dir.join(if trampolines { "trampolines" } else { "rewritten" });
        fs::copy(&self.file, &file).expect("room on the disk");
        fs::write(&file, changed).expect("room on the disk");
        let (before, after) = (self.lines(&self.file), self.lines(&file));
        let mut differences = BTreeMap::new();
        for (key, before) in &before {
            let after = after.get(key).map_or("nothing", String::as_str);
            if before != after {
                let what = format!("state {}: {before} before, {after} after", key.1);
                differences.entry(key.0).or_insert(what);
            }
        }
        differences
    }

    /// What each program left, by its index and its state's.
    fn lines(&self, file: &Path) -> BTreeMap<(usize, usize), String> {
        let mut command = emulated(file);
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        let parsed = text.lines().filter_map(|line| {
            let (number, line) = line.split_once(' ')?;
            let (state, left) = line.split_once(' ')?;
            Some(((self.index_of(number.parse().ok()?)?, state.parse().ok()?), left.to_owned()))
        });
        let lines: BTreeMap<_, _> = parsed.collect();
        if file == self.file {
            assert!(output.status.success(), "{command:?}: {}", output.status);
            assert_eq!(lines.len(), 8 * self.programs.len(), "{command:?}");
        }
        lines
    }

    /// What was planned, by program.
    fn count(&self, plan: &Plan) -> Outcome {
        let mut outcome = Outcome { programs: self.programs.len(), ..Outcome::default() };
        let mut rewritten = BTreeSet::new();
        for site in &plan.sites {
            rewritten.extend(self.program_at(site.at));
        }
        for refused in &plan.refused {
            if self.program_at(refused.at).is_some() {
                *outcome.refused.entry(format!("{}: {}", refused.rule, refused.reason)).or_default() += 1;
            }
        }
        for (index, program) in self.programs.iter().enumerate() {
            let is_rewritten = rewritten.contains(&index);
            for &around in &program.around {
                *outcome.around.entry(around).or_default() += 1;
                *outcome.rewritten_around.entry(around).or_default() += usize::from(is_rewritten);
            }
            *outcome.kinds.entry(program.kind).or_default() += 1;
            *outcome.rewritten.entry(program.kind).or_default() += usize::from(is_rewritten);
        }
        outcome
    }

    /// The program whose site starts at an address, or a few instructions before.
    fn program_at(&self, at: Svma) -> Option<usize> {
        let (&start, &program) = self.sites.range(..=at.0).next_back()?;
        (at.0 - start < 64).then_some(program)
    }

    fn different(&self, program: usize, plan: &Plan, trampolines: bool, what: String) -> Different {
        let sites = plan.sites.iter().filter(|site| self.program_at(site.at) == Some(program));
        let mut written = String::new();
        for site in sites {
            let _ = writeln!(written, "{} {}: {:08x?} by {:08x?}", site.rule, site.at, site.old, site.new);
        }
        let program = self.programs[program].clone();
        Different { program, linking: self.linking, trampolines, what, written }
    }

    /// The linked file.
    pub fn original(&self) -> &Path {
        &self.file
    }

    /// Removes all files.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn linker(linking: Linking) -> Command {
    let sources = repository().join("tests/campaign");
    let mut gcc = Command::new(GCC);
    gcc.args(["-O1", "-ffreestanding", "-fno-stack-protector", "-nostdlib", "-fvisibility=hidden"]);
    gcc.args(["-fno-asynchronous-unwind-tables", "-Wl,--no-warn-rwx-segments"]);
    match linking {
        Linking::Fixed => gcc.args(["-static", "-no-pie", "-fno-pie"]),
        Linking::Pie => gcc.args(["-static-pie", "-fPIE", "-DRELOCATES", "-Wl,-z,norelro"]),
        Linking::Shared => {
            gcc.args(["-shared", "-fPIC", "-DRELOCATES", "-Wl,-Bsymbolic,-e,_start,-z,norelro"])
        }
    };
    gcc.args(["harness.c", "enter.S"].map(|source| sources.join(source)));
    gcc
}

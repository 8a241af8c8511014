//! Many programs in one file: built, rewritten, run before and after.
//!
//! In: numbers of programs, and how to link them. Out: for each what became of its site, and whether it left anything else
//! when rewritten. One that dies or hangs ends with a signal, which is a result like others.

use super::class::{CLASSES, Class, Form};
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
const LLD: &str = "ld.lld";
const OBJCOPY: &str = "llvm-objcopy";

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
    /// Words that change what a program leaves, if it runs what a class is about: where, which, and of which program.
    evidence: Vec<(Svma, u32, Class, usize)>,
}

/// What became of the programs with one form of a class.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counted {
    /// Programs.
    pub programs: usize,
    /// Of those, rewritten; without those that have what is not heeded yet.
    pub rewritten: usize,
    /// Programs in which all that surrounds the site is harmless.
    pub alone: usize,
    /// Of those, rewritten.
    pub rewritten_alone: usize,
    /// Of those, refused for what enters the site.
    pub entered: usize,
    /// Programs in which it was seen to count when they run, and in how many that was tried.
    pub noticed: [usize; 2],
}

impl Counted {
    fn add(&mut self, other: Counted) {
        self.programs += other.programs;
        self.rewritten += other.rewritten;
        self.alone += other.alone;
        self.rewritten_alone += other.rewritten_alone;
        self.entered += other.entered;
        for (sum, more) in self.noticed.iter_mut().zip(other.noticed) {
            *sum += more;
        }
    }
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
    /// The programs with each form of each class.
    pub classes: BTreeMap<(Class, Form), Counted>,
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
        for (key, counted) in other.classes {
            self.classes.entry(key).or_default().add(counted);
        }
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
        link(&dir, &source, linking, &file);
        let marks = dir.join("marks");
        // That of GNU gives packed relocations another type.
        require(OBJCOPY);
        run(Command::new(OBJCOPY)
            .arg(format!("--dump-section=.campaign={}", marks.display()))
            .arg("--remove-section=.campaign")
            .arg(&file));
        let (sites, kept, evidence) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut batch = Batch { dir, linking, programs, file, sites, kept, evidence };
        batch.read_marks(&fs::read(marks).expect("the marks"));
        batch
    }

    fn read_marks(&mut self, marks: &[u8]) {
        let (values, _) = marks.as_chunks::<8>();
        for mark in values.as_chunks::<5>().0 {
            let [number, kind, at, word, class] = mark.map(u64::from_le_bytes);
            let program = self.index_of(number as usize).expect("a program of this file");
            if kind == Mark::Site as u64 {
                self.sites.insert(at, program);
            } else if kind == Mark::Kept as u64 {
                self.kept.push((Svma(at), program));
            } else {
                let row = CLASSES.iter().find(|row| row.class as u64 == class).expect("a class");
                self.evidence.push((Svma(at), word as u32, row.class, program));
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
        let plan = match plan(&bytes, &request) {
            Ok(plan) => plan,
            Err(error) if self.is_refused_whole() => {
                let mut outcome = self.count(&Plan::default());
                outcome.refused.insert(error.to_string(), self.programs.len());
                return outcome;
            }
            Err(error) => panic!("{}: {error}", self.file.display()),
        };
        let mut outcome = self.count(&plan);
        if plan.sites.is_empty() {
            return outcome;
        }
        let patched = apply(&bytes, &plan, &ApplyOptions::default()).expect("a plan that can be written");
        let mut differences = self.differences(&patched, trampolines);
        for &(at, program) in &self.kept {
            if plan.sites.iter().any(|site| site.extent().contains(at)) {
                let kept = || format!("what must stay at {at} is rewritten");
                differences.entry(program).or_insert_with(kept);
            }
        }
        if let Err(error) = verify(&bytes, &patched) {
            outcome.contradictions.push(format!("{}: {error}", self.file.display()));
        }
        let different =
            differences.into_iter().map(|(program, what)| self.different(program, &plan, trampolines, what));
        outcome.different = different.collect();
        outcome
    }

    /// Whether something in each program refuses its whole file.
    fn is_refused_whole(&self) -> bool {
        self.programs.iter().all(Program::is_refused_whole)
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

    /// Of each class whose harmful form shows when a program runs: in how many programs it did so, and in how many that was
    /// tried, by words in the original that change what the program leaves.
    ///
    /// # Panics
    /// If a form cannot be run.
    pub fn noticed(&self) -> BTreeMap<Class, [usize; 2]> {
        let mut noticed: BTreeMap<Class, [usize; 2]> = BTreeMap::new();
        let original = fs::read(&self.file).expect("the programs");
        let mut left: Vec<_> = self.evidence.iter().collect();
        while !left.is_empty() {
            // At most one in each program at a time.
            let (mut bytes, mut changed) = (original.clone(), BTreeMap::new());
            left.retain(|&&(at, word, class, program)| {
                let is_first = !changed.contains_key(&program);
                if is_first {
                    let offset = offset_of(&original, at).expect("loaded code");
                    bytes[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
                    changed.insert(program, class);
                }
                !is_first
            });
            let differences = self.differences(&bytes, false);
            for (program, class) in changed {
                let [noticed, tried] = noticed.entry(class).or_default();
                *tried += 1;
                *noticed += usize::from(differences.contains_key(&program));
            }
        }
        noticed
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
        let (mut rewritten, mut entered) = (BTreeSet::new(), BTreeSet::new());
        for site in &plan.sites {
            rewritten.extend(self.program_at(site.at));
        }
        for refused in &plan.refused {
            if let Some(program) = self.program_at(refused.at) {
                if refused.reason.to_string().contains("branches or points into") {
                    entered.insert(program);
                }
                *outcome.refused.entry(format!("{}: {}", refused.rule, refused.reason)).or_default() += 1;
            }
        }
        for (index, program) in self.programs.iter().enumerate() {
            let is_rewritten = rewritten.contains(&index);
            for &around in &program.around {
                *outcome.around.entry(around).or_default() += 1;
                *outcome.rewritten_around.entry(around).or_default() += usize::from(is_rewritten);
            }
            let is_harmless = !program.harms;
            for &key in &program.met {
                let (is_entered, one) =
                    (entered.contains(&index), Counted { programs: 1, ..Counted::default() });
                outcome.classes.entry(key).or_default().add(Counted {
                    rewritten: usize::from(is_rewritten),
                    alone: usize::from(is_harmless),
                    rewritten_alone: usize::from(is_harmless && is_rewritten),
                    entered: usize::from(is_harmless && is_entered),
                    ..one
                });
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

/// Where an address is in a file of ELF64, by its segments.
fn offset_of(bytes: &[u8], at: Svma) -> Option<usize> {
    let number = |offset: usize, length: usize| {
        let bytes = bytes.get(offset..offset + length)?;
        Some(bytes.iter().rev().fold(0_u64, |number, &byte| number << 8 | u64::from(byte)))
    };
    let (table, size, count) =
        (number(0x20, 8)? as usize, number(0x36, 2)? as usize, number(0x38, 2)? as usize);
    (0..count).map(|index| table + index * size).find_map(|header| {
        let [offset, start, length] = [8, 16, 32].map(|field| number(header + field, 8));
        let (offset, start, length) = (offset?, start?, length?);
        let is_loaded = number(header, 4)? == 1;
        (is_loaded && (start..start + length).contains(&at.0)).then(|| (at.0 - start + offset) as usize)
    })
}

/// Assembles and links the programs with what runs them.
fn link(dir: &Path, source: &Path, linking: Linking, file: &Path) {
    let sources = ["harness.c", "enter.S"].map(|source| repository().join("tests/campaign").join(source));
    let mut gcc = Command::new(GCC);
    gcc.current_dir(dir).args(["-O1", "-ffreestanding", "-fno-stack-protector", "-fvisibility=hidden"]);
    gcc.arg("-fno-asynchronous-unwind-tables").args(sources).arg(source);
    // What is read-only data is then in the segment of code, as this linker does by itself.
    let gnu = ["-nostdlib", "-Wl,-z,noseparate-code,--no-warn-rwx-segments"];
    let relocations = match linking {
        Linking::Fixed => {
            run(gcc.args(gnu).args(["-static", "-no-pie", "-fno-pie", "-lgcc", "-o"]).arg(file));
            return;
        }
        Linking::Pie => {
            let flags = ["-static-pie", "-fPIE", "-DRELOCATES", "-Wl,-z,norelro", "-lgcc", "-o"];
            run(gcc.args(gnu).args(flags).arg(file));
            return;
        }
        Linking::Shared => {
            let linker = "-Wl,-Bsymbolic,-e,_start,-z,norelro";
            run(gcc.args(gnu).args(["-shared", "-fPIC", "-DRELOCATES", linker, "-lgcc", "-o"]).arg(file));
            return;
        }
        Linking::Relr => ["--pack-dyn-relocs=relr", "-znorelro"],
        Linking::Rel => ["-zrel", "-znorelro"],
        Linking::Android => ["--pack-dyn-relocs=android", "-znorelro"],
    };
    require(LLD);
    run(gcc.args(["-fPIC", "-DRELOCATES", "-c"]));
    let library = run(Command::new(GCC).arg("-print-libgcc-file-name"));
    run(Command::new(LLD)
        .current_dir(dir)
        .args(["-shared", "-Bsymbolic", "-e", "_start"])
        .args(relocations)
        .args(["harness.o", "enter.o", "programs.o", library.trim(), "-o"])
        .arg(file));
}

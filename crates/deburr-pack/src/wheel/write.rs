//! A wheel for each level → variant wheels, their fallbacks and their index, in one folder.
//!
//! In: a [`WheelRequest`]. Out: the files, all there or none, and what became of each level. The wheel of the first level runs on
//! every machine that its platform tag names: it is the null variant for installers that choose, and the plain wheel for those that
//! do not. A level that has the same code as one below it is left out, since nobody would gain by it.

use super::error::{WheelStepError, at};
use super::usable::{binaries, unusable};
use crate::check::{Fault, Terms, check_files, is_linked};
use crate::same::same_code;
use deburr_cpu::{Arch, Target, levels};
use deburr_package::Limits;
use deburr_package::claim::Machines;
use deburr_package::wheel::{
    LevelProperty, NULL_LABEL, VariantMetadata, VariantSchema, Wheel, WheelError, ZipTime,
};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What becomes of the wheel of the first level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// The null variant and the plain wheel.
    Both,
    /// The null variant.
    Null,
    /// The plain wheel.
    Plain,
}

/// The wheel of a level.
#[derive(Debug, Clone)]
pub struct LevelWheel {
    /// The level.
    pub target: Target,
    /// The wheel.
    pub path: PathBuf,
    /// Whether its code was compared with the level already, or is believed.
    pub is_checked: bool,
}

/// What is requested.
#[derive(Debug, Clone)]
pub struct WheelRequest {
    /// A wheel for each level, of one architecture and in any order.
    pub wheels: Vec<LevelWheel>,
    /// The form of the metadata.
    pub schema: VariantSchema,
    /// What becomes of the wheel of the first level.
    pub fallback: Fallback,
    /// Whether levels without code of their own are kept.
    pub keep: bool,
    /// The folder for the wheels; an index that is there is added to.
    pub output: PathBuf,
    /// The time of all files in the wheels.
    pub time: ZipTime,
}

/// What was written, and what was not.
#[derive(Debug, Default, Serialize)]
pub struct WrittenWheels {
    /// The wheels, the one that needs least first.
    pub wheels: Vec<VariantWheel>,
    /// The name of the index; `None` where no variant was written.
    pub index: Option<String>,
    /// Levels without a wheel.
    pub left_out: Vec<LeftOut>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// A wheel that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VariantWheel {
    /// Its level.
    pub level: String,
    /// The label of its variant; `None`: a plain wheel.
    pub label: Option<String>,
    /// `x86_64 :: level :: v3`; `None` for the null variant and for a plain wheel.
    pub property: Option<String>,
    /// Its file name.
    pub file: String,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// A level without a wheel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The level.
    pub level: String,
    /// Why.
    pub reason: String,
    /// Whether something is wrong.
    pub is_fault: bool,
}

/// Writes the wheels.
///
/// # Errors
/// [`WheelStepError`]; then nothing was written.
pub fn write_wheels(request: &WheelRequest, terms: &Terms<'_>) -> Result<WrittenWheels, WheelStepError> {
    let ranked = ranked(&request.wheels)?;
    let mut batch = Batch {
        request,
        written: WrittenWheels::default(),
        metadata: VariantMetadata::new(request.schema),
        staged: Staged::new(&request.output)?,
    };
    let mut below: Option<(&Target, PathBuf)> = None;
    let mut index = None;
    for (rank, it) in ranked {
        let bytes = fs::read(&it.path).map_err(at(&it.path))?;
        let wheel = parse(&it.path, &bytes)?;
        let reason = unusable(&wheel, it.target.arch).map_err(named(&it.path))?;
        if let Some(reason) = reason {
            return Err(WheelStepError::Request(format!("{}: {reason}", it.target.name)));
        }
        if index.get_or_insert_with(|| wheel.name.clone()) != &wheel.name {
            let first = index.map(|name| name.with_label(None)).unwrap_or_default();
            let reason = format!("expected the same project, version and tags at each level, as in {first}");
            return Err(WheelStepError::Unusable(it.path.clone(), reason));
        }
        if !it.is_checked && !batch.check(it, &wheel, terms)? {
            continue;
        }
        if let Some((lower, path)) = &below
            && !request.keep
        {
            let lower_bytes = fs::read(path).map_err(at(path))?;
            if is_same(&parse(path, &lower_bytes)?, &wheel).map_err(named(&it.path))? {
                let reason = format!("the same code as {}; --keep keeps it", lower.name);
                batch.leave_out(&it.target.name, reason, false);
                continue;
            }
        }
        if wheel.is_signed() {
            let reason = "RECORD was signed, and is not any more: sign the new wheels";
            batch.written.notes.push(format!("{}: {reason}", it.target.name));
        }
        batch.stage(rank, it, &wheel)?;
        below = Some((&it.target, it.path.clone()));
    }
    match index {
        Some(name) if !batch.written.wheels.is_empty() => batch.finish(&name.index()),
        _ => Ok(batch.written),
    }
}

/// The wheels with the places of their levels among those of the architecture, the lowest first.
fn ranked(wheels: &[LevelWheel]) -> Result<Vec<(usize, &LevelWheel)>, WheelStepError> {
    let mut ranked: Vec<(usize, &LevelWheel)> = Vec::new();
    for wheel in wheels {
        let rank = rank(&wheel.target).map_err(WheelStepError::Request)?;
        let other = ranked.iter().find(|(at, other)| *at == rank || other.target.arch != wheel.target.arch);
        if let Some((_, other)) = other {
            let (one, other) = (&wheel.target.name, &other.target.name);
            let reason = format!("{one} and {other}: expected levels of one architecture, each once");
            return Err(WheelStepError::Request(reason));
        }
        ranked.push((rank, wheel));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    Ok(ranked)
}

/// The place of a target among the levels of its architecture.
///
/// # Errors
/// It is no level: a variant has no property for it.
pub fn rank(target: &Target) -> Result<usize, String> {
    let all = levels(target.arch);
    let found = all.iter().position(|level| level.features == target.features && level.name == target.name);
    found.ok_or_else(|| {
        let first = all.get(1).map_or("", |level| level.name);
        format!(
            "{}: expected a level, such as {first}: a variant has no property for another target",
            target.name
        )
    })
}

fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<Wheel<'a>, WheelStepError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Wheel::parse(&name, bytes, &Limits::default()).map_err(named(path))
}

fn named(path: &Path) -> impl Fn(WheelError) -> WheelStepError + '_ {
    move |error| WheelStepError::Unusable(path.to_owned(), error.to_string())
}

/// Whether two wheels run the same code: all files are equal, programs and libraries apart from their notes.
fn is_same(one: &Wheel<'_>, other: &Wheel<'_>) -> Result<bool, WheelError> {
    if !one.files().map(|(path, _)| path).eq(other.files().map(|(path, _)| path)) {
        return Ok(false);
    }
    for ((path, a), (_, b)) in one.files().zip(other.files()) {
        if a.has_same_bytes(b) || one.is_derived(path) {
            continue;
        }
        let (a, b) = (one.read(path)?, other.read(path)?);
        if !is_linked(&a) || !same_code(&a, &b).unwrap_or(false) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is written so far.
struct Batch<'r> {
    request: &'r WheelRequest,
    written: WrittenWheels,
    metadata: VariantMetadata,
    staged: Staged,
}

impl Batch<'_> {
    fn leave_out(&mut self, level: &str, reason: String, is_fault: bool) {
        self.written.left_out.push(LeftOut { level: level.to_owned(), reason, is_fault });
    }

    /// Compares the code of a wheel with its level; whether it is what the level says.
    fn check(
        &mut self,
        it: &LevelWheel,
        wheel: &Wheel<'_>,
        terms: &Terms<'_>,
    ) -> Result<bool, WheelStepError> {
        let paths = binaries(wheel).map_err(named(&it.path))?;
        let files = paths.into_iter().map(|path| (Path::new(path), wheel.read(path)));
        let all = check_files(files, &it.target, terms).map_err(named(&it.path))?;
        let level = it.target.name.as_str();
        for fault in &all.faults {
            self.leave_out(level, rejection(fault), true);
        }
        self.written.notes.extend(all.record().believed().into_iter().map(|line| format!("{level}: {line}")));
        let others = self.request.wheels.iter().map(|it| (it.target.name.as_str(), it.target.features));
        if all.faults.is_empty()
            && let Some(below) = all.nothing_above(it.target.features, others)
        {
            self.written.notes.push(format!("{level}: no instruction needs more than {below}"));
        }
        Ok(all.faults.is_empty())
    }

    /// Writes what is made of the wheel of a level, under names that do not count yet.
    fn stage(&mut self, rank: usize, it: &LevelWheel, wheel: &Wheel<'_>) -> Result<(), WheelStepError> {
        let property = LevelProperty::from_level(&it.target.name).filter(|_| rank > 0);
        let is_variant: &[bool] = match self.request.fallback {
            _ if rank > 0 => &[true],
            Fallback::Both => &[true, false],
            Fallback::Null => &[true],
            Fallback::Plain => &[false],
        };
        for &is_variant in is_variant {
            let mut own = VariantMetadata::new(self.request.schema);
            let label = is_variant.then(|| {
                self.metadata.add(property.as_ref());
                own.add(property.as_ref())
            });
            let document = is_variant.then(|| own.to_bytes());
            let made = wheel.with_variant(document.as_deref(), self.request.time).map_err(named(&it.path))?;
            let file = wheel.name.with_label(label.as_deref());
            claims_its_level(&file, &made, &it.target)?;
            self.staged.write(&file, &made)?;
            self.written.wheels.push(VariantWheel {
                level: it.target.name.clone(),
                label,
                property: property.as_ref().map(LevelProperty::to_string),
                file,
                size: made.len() as u64,
                sha256: Sha256::digest(&made).iter().map(|byte| format!("{byte:02x}")).collect(),
            });
        }
        Ok(())
    }

    /// Gives the wheels their names, and writes the index.
    fn finish(mut self, index: &str) -> Result<WrittenWheels, WheelStepError> {
        let has_fallback = |it: &VariantWheel| it.label.as_deref().is_none_or(|label| label == NULL_LABEL);
        if let Some(first) = self.written.wheels.first().filter(|it| !has_fallback(it)) {
            let lowest = self.request.wheels.first().map_or(Arch::X86_64, |it| it.target.arch);
            let lowest = levels(lowest).first().map_or("", |level| level.name);
            let note = format!("no wheel is for machines below {}; build {lowest}, too", first.level);
            self.written.notes.push(note);
        }
        if self.written.wheels.iter().any(|wheel| wheel.label.is_some()) {
            let path = self.request.output.join(index);
            match fs::read(&path) {
                Ok(before) => self.metadata.merge(&before).map_err(named(&path))?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(at(&path)(error)),
            }
            self.staged.write(index, &self.metadata.to_bytes())?;
            self.written.index = Some(index.to_owned());
        }
        self.staged.publish()?;
        Ok(self.written)
    }
}

fn rejection(fault: &Fault) -> String {
    format!("rejected: {fault}")
}

/// Sees that a wheel, read again, says that it is for its level.
fn claims_its_level(file: &str, bytes: &[u8], target: &Target) -> Result<(), WheelStepError> {
    let path = Path::new(file);
    let claimed = match parse(path, bytes)?.machines {
        Machines::Level(level) => Target::parse(&level).ok().map(|claimed| claimed.features),
        _ => None,
    };
    if claimed == Some(target.features) {
        return Ok(());
    }
    let reason =
        format!("the new wheel does not say that it is for {}; this is a fault of deburr", target.name);
    Err(WheelStepError::Unusable(path.to_owned(), reason))
}

/// Files that are whole, and have their names when all of them are.
struct Staged {
    folder: PathBuf,
    files: Vec<(PathBuf, PathBuf)>,
}

impl Staged {
    fn new(folder: &Path) -> Result<Staged, WheelStepError> {
        match fs::metadata(folder) {
            Ok(data) if !data.is_dir() => {
                let reason = "expected a folder, or a name at which there is nothing".to_owned();
                Err(WheelStepError::Unusable(folder.to_owned(), reason))
            }
            _ => Ok(Staged { folder: folder.to_owned(), files: Vec::new() }),
        }
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), WheelStepError> {
        fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
        let temporary = self.folder.join(format!(".{name}.{}.new", std::process::id()));
        self.files.push((temporary.clone(), self.folder.join(name)));
        fs::write(&temporary, bytes).map_err(at(&temporary))
    }

    fn publish(&mut self) -> Result<(), WheelStepError> {
        for (temporary, path) in &self.files {
            fs::rename(temporary, path).map_err(at(path))?;
        }
        self.files.clear();
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for (temporary, _) in &self.files {
            // The first fault is the one to report.
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(level: &str, path: &str) -> LevelWheel {
        LevelWheel { target: Target::parse(level).unwrap(), path: PathBuf::from(path), is_checked: true }
    }

    #[test]
    fn levels_are_ranked_and_each_is_there_once() {
        let wheels = [of("x86-64-v3", "c"), of("x86-64", "a"), of("x86-64-v2", "b")];
        let ranked: Vec<_> =
            ranked(&wheels).unwrap().iter().map(|(rank, it)| (*rank, it.path.clone())).collect();
        let expected = [(0, "a"), (1, "b"), (2, "c")].map(|(rank, path)| (rank, PathBuf::from(path)));
        assert_eq!(ranked, expected);
    }

    #[test]
    fn what_no_property_states_is_refused() {
        for (wheels, complaint) in [
            (vec![of("haswell", "a")], "haswell: expected a level, such as x86-64-v2"),
            (vec![of("x86-64-v3+aes", "a")], "x86-64-v3+aes: expected a level"),
            (vec![of("armv8-a+lse", "a")], "armv8.0-a+lse: expected a level, such as armv8.1-a"),
            (vec![of("x86-64-v3", "a"), of("v3", "b")], "x86-64-v3 and x86-64-v3: expected levels"),
            (vec![of("x86-64-v3", "a"), of("armv8.1-a", "b")], "armv8.1-a and x86-64-v3: expected levels"),
        ] {
            let error = ranked(&wheels).unwrap_err().to_string();
            assert!(error.starts_with(complaint), "{error}");
        }
    }
}

//! `deburr scan`: an archive → the tables of all that is in it, without checking twice what has not changed.
//!
//! The items of the archive are listed ([`archive`]), or those that a program names ([`mod@given`]); those whose rows are kept are not looked at
//! again ([`cache`]), the others are checked and kept one by one ([`work`], [`network`]), and then all become one shard
//! ([`mod@publish`]). Whatever ends a scan before that, the next one goes on from what is kept, and no table has a part of it.

mod archive;
mod cache;
mod course;
mod folder;
pub(crate) mod given;
mod hashes;
mod network;
mod publish;
pub(crate) mod summary;
mod work;
mod written;

use super::failure::Failure;
use crate::args::tables::scan::Scan;
use crate::batch::plan::BatchPlan;
use crate::clock::microseconds;
use crate::input::exclude::Excluded;
use crate::output::shard::ShardFiles;
use crate::output::{self, target};
use crate::product::scan_item::{Item, Part, Place, in_order};
use crate::sha256::sha256;
use crate::system_error::error_text;
use cache::Cache;
use course::{Course, Fate};
use deburr_archive::Selection;
use deburr_text::ShownPath as _;
use given::Given;
use hashes::{Hashes, Stamp, hash};
use network::curl::without_credentials;
use network::failed::LastFailed;
use network::remote::{self, Remote};
use publish::{Published, publish};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use summary::{Failed, Listed, Listing, Summary};
use work::{Input, Work};
use written::Note;

/// Runs the verb.
pub(super) fn run(
    options: &Scan,
    out: &mut dyn Write,
    complaints: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let summary = scan(options, None, Path::new("/proc/self/exe"))?;
    summary.complain(complaints);
    summary.write(options.format, out)?;
    Ok(if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Scans the archive that the options name, or what is given instead of it. `program`: the file of this code, by whose hash rows
/// that another version has kept are none.
pub(crate) fn scan(options: &Scan, given: Option<&Given>, program: &Path) -> Result<Summary, Failure> {
    let plan = BatchPlan::new(&options.analysis, &options.batch()).map_err(Failure::Message)?;
    let mut plan = plan.within(&options.scope);
    plan.analysis.config.strict |= options.strict;
    plan.describes = true;
    let tables = target::folder(&options.tables)
        .map_err(|error| Failure::Message(format!("{}: {}", options.tables.shown(), error_text(&error))))?;
    let scanning = Scanning {
        options,
        given,
        program,
        plan: &plan,
        selection: options.selection().map_err(Failure::Message)?,
        cache: options.cache.clone().unwrap_or_else(|| tables.join("cache")),
        run: options.run.map_or_else(microseconds, |seconds| seconds.saturating_mul(1_000_000)),
        tables,
    };
    scanning.run().map_err(Failure::Message)
}

/// What a scan of the archive would scan.
pub(crate) fn list(options: &Scan) -> Result<Listing, Failure> {
    let selection = options.selection().map_err(Failure::Message)?;
    let scratch = options.tables.join("downloads");
    let threads = options.threads.map_or(1, NonZeroUsize::get);
    let (items, faults) = archive::list(&options.archive, (&selection, !options.no_index), &scratch, threads)
        .map_err(Failure::Message)?;
    let part = options.shard.unwrap_or(Part::WHOLE);
    let excluded = Excluded::new(&options.scope.exclude);
    let is_wanted = |item: &Item| part.has(&item.path) && !excluded.has(&item.path);
    let items = in_order(items.into_iter().filter(is_wanted).collect());
    let packages = items.into_iter().map(|Item { path, size, sha256, .. }| Listed { path, size, sha256 });
    let failures = faults.into_iter().map(|(path, reason)| Failed { path, reason });
    Ok(Listing { packages: packages.collect(), failures: failures.collect() })
}

/// A scan at work.
struct Scanning<'a> {
    options: &'a Scan,
    /// What is scanned instead of the archive of the options.
    given: Option<&'a Given>,
    program: &'a Path,
    plan: &'a BatchPlan,
    selection: Selection,
    tables: PathBuf,
    cache: PathBuf,
    /// When it began, in microseconds since 1970.
    run: i64,
}

impl Scanning<'_> {
    fn run(&self) -> Result<Summary, String> {
        let since = Instant::now();
        let BatchPlan { analysis, limits, excluded, .. } = self.plan;
        let words = format!("{analysis:?}\0{limits:?}\0{excluded:?}");
        let cache = Cache::open(&self.cache, &words, self.program)?;
        let part = self.options.shard.unwrap_or(Part::WHOLE);
        let archive = self.archive();
        let (mut items, faults) = self.list()?;
        // What cannot be written should fail before hours of work.
        let note = self.options.run.map(|_| Note::of(&self.tables, self.run, &archive, part)).transpose()?;
        let shard = ShardFiles::open(&self.tables)?;
        items.retain(|item| part.has(&item.path) && !self.plan.excluded.has(&item.path));
        let mut items = in_order(items);

        let hashes_file = sha256([archive.as_bytes(), format!("\0{part:?}").as_bytes()]);
        let mut hashes = Hashes::read(&output::folder(&self.cache.join("hashes"))?.join(&hashes_file));
        self.hash(&mut items, &cache, &mut hashes)?;
        let known: Vec<Option<Fate>> = items.iter().map(|item| self.known(item, &cache)).collect();
        let kept = known.iter().flatten().count();
        let is_open = |(item, fate): (&Item, &Option<Fate>)| fate.is_none().then(|| item.path.clone());
        let open: Vec<String> = items.iter().zip(&known).filter_map(is_open).collect();
        let mut course = Course::new(self.options.progress, &items, known);
        let failed_file = self.cache.join("failed").join(&hashes_file);
        let mut last_failed = LastFailed::read(&failed_file);
        output::folder(&self.cache.join("failed"))?;
        self.check(&items, (&cache, &last_failed), &mut hashes, &mut course)?;
        let (fates, bytes_checked) = course.finish();

        let count = items.len();
        let paths = items.into_iter().map(|item| item.path);
        let failed = failures(faults).filter(|(path, _)| part.has(path));
        let mut fates: Vec<(String, Fate)> = paths.zip(fates).chain(failed).collect();
        fates.sort_by(|one, other| one.0.cmp(&other.0));
        let Published { shard, faults } = publish(shard, (&cache, note.as_ref()), self.run, &fates)?;
        hashes.write()?;
        let not_whole = not_whole(&faults);
        let failed: BTreeSet<String> =
            open.iter().filter(|path| not_whole.contains(path.as_str())).cloned().collect();
        let checked = open.len() - failed.len();
        last_failed.replace(failed)?;
        Ok(Summary {
            run: self.run as f64 / 1e6,
            items: count,
            kept,
            checked,
            bytes_checked,
            tables: self.tables.clone(),
            shard,
            elapsed_seconds: since.elapsed().as_secs_f64(),
            failures: faults.into_iter().map(|(path, reason)| Failed { path, reason }).collect(),
        })
    }

    /// What is scanned, and what of it cannot be.
    fn list(&self) -> Result<(Vec<Item>, Vec<cache::Fault>), String> {
        let wanted = (&self.selection, !self.options.no_index);
        match self.given {
            None => archive::list(&self.options.archive, wanted, &self.downloads(), self.plan.threads),
            Some(given) if self.selection == Selection::default() && self.options.shard.is_none() => {
                given.list()
            }
            Some(_) => Err("--suite, --component, --architecture, --package and --shard select from an archive, and packages are given"
                .to_owned()),
        }
    }

    /// What distinguishes the archive, and what is wanted of it, from others.
    fn archive(&self) -> String {
        if let Some(given) = self.given {
            return given.identity();
        }
        let given = &self.options.archive;
        let place = given.canonicalize().unwrap_or_else(|_| given.clone());
        let place = without_credentials(&place.shown());
        format!("{place}\0{:?}\0{}", self.selection, self.options.no_index)
    }

    /// Where what is fetched is until it is read.
    fn downloads(&self) -> PathBuf {
        self.cache.join("downloads")
    }

    /// Takes the hashes of what is here, and not known by its times. Where nothing is kept, nothing could be found by them.
    fn hash(&self, items: &mut [Item], cache: &Cache, hashes: &mut Hashes) -> Result<(), String> {
        let mut open: Vec<(&mut Item, PathBuf)> = Vec::new();
        for item in items.iter_mut().filter(|item| item.sha256.is_none()) {
            let Place::Here(place) = &item.place else { continue };
            let place = place.clone();
            let stamp = fs::metadata(&place).ok().map(|metadata| Stamp::of(&metadata));
            match stamp.and_then(|stamp| hashes.known(&item.path, stamp)) {
                Some(sha256) => item.sha256 = Some(sha256.to_owned()),
                None => open.push((item, place)),
            }
        }
        if cache.is_empty() {
            return Ok(());
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.plan.threads).build();
        let pool = pool.map_err(|error| error.to_string())?;
        // What cannot be read is told when it is checked.
        let hashed: Vec<_> =
            pool.install(|| open.par_iter().map(|(_, place)| hash(place).ok().flatten()).collect());
        for ((item, _), hashed) in open.into_iter().zip(hashed) {
            if let Some((stamp, moment, sha256)) = hashed {
                hashes.note(&item.path, stamp, moment, &sha256);
                item.sha256 = Some(sha256);
            }
        }
        Ok(())
    }

    /// What is kept of an item from before.
    fn known(&self, item: &Item, cache: &Cache) -> Option<Fate> {
        let key = cache.key(&item.path, item.sha256.as_deref()?);
        cache.answer(&key, self.run).map(|_| Fate::Kept(key))
    }

    /// Checks what is open.
    fn check(
        &self,
        items: &[Item],
        (cache, last_failed): (&Cache, &LastFailed),
        hashes: &mut Hashes,
        course: &mut Course,
    ) -> Result<(), String> {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for (number, item) in course.open(items) {
            match &item.place {
                Place::Here(place) => here.push(Input { number, item, place: place.clone() }),
                Place::There(url) => there.push(Remote { number, item, url }),
            }
        }
        // The largest first: no thread is left with one at the end. Those of one size in the order of their paths.
        here.sort_by_key(|input| Reverse(input.item.size));
        there.sort_by_key(|remote| !last_failed.has(&remote.item.path));
        let mut work = Work::new(self.plan, cache, self.run);
        work.check(&here, hashes, course)?;
        remote::check(&there, &self.downloads(), (&mut work, hashes), course)
    }
}

/// What could not be checked as a whole: the paths of faults, and of what these are in (`a.deb` of `a.deb!usr/bin/a`).
fn not_whole(faults: &[cache::Fault]) -> HashSet<&str> {
    let outer =
        |path: &'_ str| path.match_indices('!').map(|(at, _)| at).chain([path.len()]).collect::<Vec<_>>();
    faults.iter().flat_map(|(path, _)| outer(path).into_iter().filter_map(|end| path.get(..end))).collect()
}

/// What could not be listed, each path once.
fn failures(faults: Vec<cache::Fault>) -> impl Iterator<Item = (String, Fate)> {
    let mut reasons: BTreeMap<String, String> = BTreeMap::new();
    for (path, reason) in faults {
        let all = reasons.entry(path).or_default();
        let comma = if all.is_empty() { "" } else { "; " };
        *all += &format!("{comma}{reason}");
    }
    reasons.into_iter().map(|(path, reason)| (path, Fate::Failed(reason)))
}

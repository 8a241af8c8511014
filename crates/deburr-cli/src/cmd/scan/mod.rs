//! `deburr scan`: an archive → the tables of all that is in it, without checking twice what has not changed.
//!
//! The items of the archive are listed ([`folder`]), those whose rows are kept are not looked at again ([`cache`]), the others
//! are checked and kept one by one ([`work`]), and then all become one shard ([`mod@publish`]). Whatever ends a scan before
//! that, the next one goes on from what is kept, and no table has a part of it.

mod archive;
mod cache;
mod curl;
mod folder;
mod hashes;
pub(crate) mod item;
mod meter;
mod publish;
mod work;
mod written;

use super::failure::Failure;
use crate::args::tables::scan::Scan;
use crate::batch::plan::BatchPlan;
use crate::output::shard::ShardFiles;
use crate::output::target;
use crate::sha256::sha256;
use crate::system_error::error_text;
use cache::Cache;
use hashes::{Hashes, Stamp, hash};
use item::{Item, Place, in_order};
use meter::Meter;
use publish::{Published, publish};
use rayon::prelude::*;
use serde::Serialize;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use work::{Fate, Input, Work};
use written::Note;

/// The failures that are listed one by one.
const MOST_LISTED: usize = 200;

/// What a scan did, as `--format json` has it.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    /// The moment by which the tables know it, in seconds since 1970.
    run: f64,
    items: usize,
    /// Of these, whose rows were kept from before.
    kept: usize,
    checked: usize,
    bytes_checked: u64,
    shard: &'a str,
    elapsed_seconds: f64,
    failures: Vec<Failed<'a>>,
}

/// A path that could not be checked.
#[derive(Debug, Serialize)]
struct Failed<'a> {
    path: &'a str,
    reason: &'a str,
}

/// Runs the verb.
pub(super) fn run(
    options: &Scan,
    out: &mut dyn Write,
    complaints: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let since = Instant::now();
    let run = options.run.map_or_else(now, |seconds| seconds.saturating_mul(1_000_000));
    let mut plan = BatchPlan::new(&options.analysis, &options.batch()).map_err(Failure::Message)?;
    plan.analysis.config.strict |= options.strict;
    plan.describes = true;
    let folder = target::folder(&options.tables)
        .map_err(|error| Failure::Message(format!("{}: {}", options.tables.display(), error_text(&error))))?;
    let cache_folder = options.cache.clone().unwrap_or_else(|| folder.join("cache"));
    let scan = Scanning { options, plan: &plan, tables: &folder, cache: &cache_folder, run };
    let done = scan.run().map_err(Failure::Message)?;
    let Done { published, items, kept, bytes_checked } = done;
    let Published { shard, faults } = published;
    let summary = Summary {
        run: run as f64 / 1e6,
        items,
        kept,
        checked: items - kept,
        bytes_checked,
        shard: &shard,
        elapsed_seconds: since.elapsed().as_secs_f64(),
        failures: faults.iter().map(|(path, reason)| Failed { path, reason }).collect(),
    };
    for Failed { path, reason } in summary.failures.iter().take(MOST_LISTED) {
        let _ = writeln!(complaints, "deburr: {path}: {reason}");
    }
    if let Some(more) = summary.failures.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
        let _ = writeln!(complaints, "deburr: and {more} more failures: column error of the table files");
    }
    match options.json {
        true => {
            serde_json::to_writer(&mut *out, &summary).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        false => summary.tell(&folder, out)?,
    }
    Ok(if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl Summary<'_> {
    fn tell(&self, tables: &Path, out: &mut dyn Write) -> std::io::Result<()> {
        let Summary { items, kept, checked, elapsed_seconds, shard, .. } = self;
        let failures = self.failures.len();
        writeln!(
            out,
            "{items} in the archive: {kept} as before, {checked} checked, in {elapsed_seconds:.1} s; failures: {failures}"
        )?;
        writeln!(out, "{}: shard {shard}", tables.display())
    }
}

/// Now, in microseconds since 1970.
fn now() -> i64 {
    // A clock before 1970 is wrong, and no reason to fail.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// An item on another machine, and its number.
struct Remote<'i> {
    at: usize,
    item: &'i Item,
    url: &'i str,
}

/// What is fetched before it is checked: so many bytes, or items of any size, lie on this disk twice over.
const BYTES_OF_LOAD: u64 = 256 << 20;
const ITEMS_OF_LOAD: usize = 64;

/// Cuts items into loads.
fn loads_of<'r, 'i>(items: &'r [Remote<'i>]) -> Vec<&'r [Remote<'i>]> {
    let mut loads = Vec::new();
    let (mut first, mut bytes) = (0, 0);
    for (at, remote) in items.iter().enumerate() {
        bytes += remote.item.size;
        if bytes >= BYTES_OF_LOAD || at + 1 - first >= ITEMS_OF_LOAD || at + 1 == items.len() {
            loads.extend(items.get(first..=at));
            (first, bytes) = (at + 1, 0);
        }
    }
    loads
}

fn set(fates: &mut [Option<Fate>], at: usize, fate: Fate) {
    if let Some(known) = fates.get_mut(at) {
        *known = Some(fate);
    }
}

/// A scan at work.
struct Scanning<'a> {
    options: &'a Scan,
    plan: &'a BatchPlan,
    tables: &'a Path,
    cache: &'a Path,
    run: i64,
}

/// What a scan has done.
struct Done {
    published: Published,
    items: usize,
    kept: usize,
    bytes_checked: u64,
}

impl Scanning<'_> {
    fn run(&self) -> Result<Done, String> {
        let words = format!("{:?}\0{:?}", self.plan.analysis, self.plan.limits);
        let cache = Cache::open(self.cache, &words)?;
        let archive = self.options.archive.display().to_string();
        let part = self.options.shard.map_or_else(String::new, |part| format!("{}/{}", part.number, part.of));
        let wanted = self.options.selection()?;
        let scan = format!("{archive}\0{part}\0{wanted:?}");
        let mut hashes = Hashes::read(&self.hashes_file(&scan)?);
        let downloads = self.cache.join("downloads");
        let wanted = (&wanted, !self.options.no_index);
        let (mut items, faults) =
            archive::list(&self.options.archive, wanted, &downloads, self.plan.threads)?;
        // What cannot be written should fail before hours of work.
        let shard = ShardFiles::open(self.tables)?;
        let mut failed: Vec<(String, Fate)> =
            faults.into_iter().map(|(path, reason)| (path, Fate::Failed(reason))).collect();
        if let Some(part) = self.options.shard {
            items.retain(|item| part.has(&item.path));
            failed.retain(|(path, _)| part.has(path));
        }
        let mut items = in_order(items);
        self.hash(&mut items, &cache, &mut hashes)?;
        let mut fates: Vec<Option<Fate>> = items.iter().map(|item| self.known(item, &cache)).collect();
        let kept = fates.iter().flatten().count();
        let bytes_checked = self.check(&items, &mut fates, &cache, &mut hashes)?;
        let count = items.len();
        let fates = items.into_iter().zip(fates).map(|(item, fate)| {
            (item.path, fate.unwrap_or_else(|| Fate::Failed("it was not checked".to_owned())))
        });
        let mut fates: Vec<(String, Fate)> = fates.chain(failed.drain(..)).collect();
        fates.sort_by(|one, other| one.0.cmp(&other.0));
        let published = publish(shard, &cache, self.run, &fates)?;
        if self.options.run.is_some() {
            Note::of(self.tables, self.run, &scan).replace(&published.shard)?;
        }
        hashes.write()?;
        Ok(Done { published, items: count, kept, bytes_checked })
    }

    fn hashes_file(&self, scan: &str) -> Result<PathBuf, String> {
        let folder = crate::output::folder(&self.cache.join("hashes"))?;
        let here = self.options.archive.canonicalize().unwrap_or_else(|_| self.options.archive.clone());
        Ok(folder.join(sha256([here.display().to_string().as_bytes(), b"\0", scan.as_bytes()])))
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

    /// Checks what is not known, and returns its bytes.
    fn check(
        &self,
        items: &[Item],
        fates: &mut [Option<Fate>],
        cache: &Cache,
        hashes: &mut Hashes,
    ) -> Result<u64, String> {
        let open: Vec<usize> =
            (0..items.len()).filter(|at| fates.get(*at).is_some_and(Option::is_none)).collect();
        let bytes = open.iter().filter_map(|at| items.get(*at)).map(|item| item.size).sum();
        let mut meter = Meter::new(self.options.progress, (open.len() as u64, bytes));
        let mut work = Work::new(self.plan, cache, self.run);
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for at in open {
            match items.get(at).map(|item| (item, &item.place)) {
                Some((item, Place::Here(place))) => here.push((at, Input { item, place: place.clone() })),
                Some((item, Place::There(url))) => there.push(Remote { at, item, url }),
                None => {}
            }
        }
        work.check(&here, hashes, &mut meter, |at, fate| set(fates, at, fate))?;
        let loads = loads_of(&there);
        let downloads = self.cache.join("downloads");
        let fetched = |load: &[Remote<'_>]| {
            curl::fetch_all(&load.iter().map(|remote| remote.url).collect::<Vec<_>>(), &downloads)
        };
        // While one load is checked, the next is fetched.
        std::thread::scope(|scope| {
            let mut loads = loads.into_iter().peekable();
            let mut coming = loads.peek().map(|load| scope.spawn(|| fetched(load)));
            while let (Some(load), Some(thread)) = (loads.next(), coming.take()) {
                let files = thread.join().map_err(|_| "fetching failed; please report it".to_owned())?;
                coming = loads.peek().map(|load| scope.spawn(|| fetched(load)));
                let mut inputs = Vec::new();
                for (Remote { at, item, .. }, file) in load.iter().zip(&files) {
                    match file {
                        Ok(file) => inputs.push((*at, Input { item, place: file.path().to_owned() })),
                        Err(reason) => {
                            meter.add(1, item.size);
                            set(fates, *at, Fate::Failed(reason.clone()));
                        }
                    }
                }
                work.check(&inputs, hashes, &mut meter, |at, fate| set(fates, at, fate))?;
            }
            Ok(())
        })
        .map_err(|error: String| error)?;
        meter.finish();
        Ok(bytes)
    }
}

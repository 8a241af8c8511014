//! The crew of a batch, which all its threads share: a file or a member of a package → its outcomes.
//!
//! Each thread is a rayon pool of one. A file too large to share the gate with one file per thread gets a
//! pool of all threads instead. A file that waits on the verdict of its libraries is checked a second time,
//! with what these show.

use super::artefact::Artefact;
use super::outcome::{Outcome, Product};
use super::plan::BatchPlan;
use crate::analysis::claims::{self, Held};
use crate::analysis::{JitPart, Provenance, Refusal, Siblings};
use crate::input::closure::Closures;
use crate::input::content::{Content, arch_of};
use crate::input::gate::Gate;
use crate::input::mapped::Bytes;
use crate::input::walk::{InputFile, Skipped};
use crate::names::ARCHES;
use crate::system_error::error_text;
use deburr_core::image::{Archive, chosen_by_resolvers};
use deburr_core::report::Reach;
use deburr_core::{Families, Knowledge, Report, Request, families};
use deburr_cpu::Arch;
use deburr_package::{Found, sniff};
use deburr_profile::{JitImage, JitImages, jit_images};
use deburr_text::{ShownPath as _, one_line};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// Where bytes come from.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    File(&'a InputFile),
    /// A package, which has no debug files next to it.
    Member {
        /// What it is held to.
        held: Option<&'a Held>,
        /// As [`Provenance::stored_at`].
        stored_at: Option<u64>,
    },
}

impl Origin<'_> {
    fn is_named(self) -> bool {
        matches!(self, Origin::File(file) if file.is_named())
    }
}

/// A lone file of fewer bytes is done before a second thread has started.
const WORTH_A_POOL: u64 = 1 << 20;

/// What all files of a run share.
pub(super) struct Crew<'a> {
    pub(super) plan: &'a BatchPlan,
    pub(super) gate: Gate,
    /// Whether there is one file only.
    alone: bool,
    pool: OnceLock<Option<rayon::ThreadPool>>,
    /// The libraries that files need, where they are looked at.
    closures: Option<Closures>,
}

impl<'a> Crew<'a> {
    /// `alone`: whether there is one file only.
    pub(super) fn new(plan: &'a BatchPlan, alone: bool, closures: Option<Closures>) -> Crew<'a> {
        Crew { plan, gate: Gate::new(plan.threads), alone, pool: OnceLock::new(), closures }
    }

    /// The pool of all threads, for a file that is worth it.
    pub(super) fn pool_for(&self, bytes: u64) -> Option<&rayon::ThreadPool> {
        let threads = self.plan.threads;
        if threads < 2 || bytes < if self.alone { WORTH_A_POOL } else { self.gate.share() } {
            return None;
        }
        let build = || rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok();
        self.pool.get_or_init(build).as_ref()
    }

    /// Checks one file, or all members of an archive.
    pub(super) fn check_file<P: Product>(&self, file: &InputFile) -> Vec<Outcome<P>> {
        self.check_kept(file).0
    }

    /// Checks one file, and keeps its bytes where it carries something that is to be read.
    pub(super) fn check_kept<P: Product>(&self, file: &InputFile) -> (Vec<Outcome<P>>, Option<Bytes>) {
        let _pass = self.gate.pass(file.size);
        match Bytes::open(&file.place) {
            Ok(bytes) => {
                let outcomes = self.check_opened(file, &bytes, file.content);
                let is_carrier = file.content == Content::Elf && self.opens(&bytes);
                (outcomes, is_carrier.then_some(bytes))
            }
            Err(error) => (vec![skipped(file, error_text(&error))], None),
        }
    }

    pub(super) fn check_opened<P: Product>(
        &self,
        file: &InputFile,
        bytes: &Bytes,
        content: Content,
    ) -> Vec<Outcome<P>> {
        let path = file.path.shown().into_owned();
        let origin = Origin::File(file);
        let check = || match content {
            Content::Elf => vec![self.check_bytes::<P>(bytes, path.clone(), origin)],
            Content::Archive => match Archive::parse(bytes) {
                Ok(archive) => self.check_members(bytes, archive, &path, origin),
                Err(error) => vec![skipped(file, error.to_string())],
            },
            Content::Jitdump => match jit_images(bytes) {
                Ok(images) => self.check_jit(images, file),
                Err(error) => vec![skipped(file, error.to_string())],
            },
            Content::Empty => vec![skipped(file, "an empty file".to_owned())],
            Content::Known(known) => {
                let size = Some(bytes.len() as u64);
                let named = file.is_named();
                vec![Outcome::Skipped(Skipped::recognised(path.clone(), known.name(), size, named))]
            }
            _ => vec![skipped(file, "no ELF file".to_owned())],
        };
        let pool = self.pool_for(bytes.len() as u64);
        let mut outcomes = match pool {
            Some(pool) => pool.install(check),
            None => check(),
        };
        if let (Some(closures), [outcome], Content::Elf) = (&self.closures, outcomes.as_mut_slice(), content)
        {
            self.follow_libraries(file, bytes, closures, outcome);
        }
        if content == Content::Elf {
            self.add_carried(bytes, (&path, file.is_named()), &mut outcomes);
        }
        if self.plan.describes {
            let artefact = Artefact::of(&path, bytes, &self.plan.limits);
            outcomes.insert(0, Outcome::Described(Box::new(artefact)));
        }
        let is_whole = file.is_stdin || bytes.len() as u64 == file.size;
        if is_whole && bytes.is_intact() {
            outcomes
        } else {
            vec![skipped(file, "the file changed while it was read".to_owned())]
        }
    }

    /// Checks a file again with what its libraries show, where that could change a verdict.
    fn follow_libraries<P: Product>(
        &self,
        file: &InputFile,
        bytes: &Bytes,
        closures: &Closures,
        outcome: &mut Outcome<P>,
    ) {
        let Outcome::Checked { product, .. } = outcome else { return };
        let closure = closures.of(bytes, (!file.is_stdin).then_some(file.place.as_path()));
        // Not in the pool: a worker that waits there could take up another file that waits for the same
        // library.
        let known = if is_open(product.report()) { closures.knowledge(&closure) } else { Vec::new() };
        if !known.is_empty() {
            let foreign: Vec<&Knowledge> = known.iter().map(Arc::as_ref).collect();
            let path = file.path.shown().into_owned();
            let again =
                || self.check_knowing(bytes, path, Origin::File(file), (&foreign, Siblings::default()));
            *outcome = match self.pool_for(bytes.len() as u64) {
                Some(pool) => pool.install(again),
                None => again(),
            };
        }
        if let Outcome::Checked { product, .. } = outcome {
            let report = product.report();
            let libraries = closure.libraries.iter().map(|library| library.shown().into_owned());
            report.closure = Some(libraries.collect());
            let missing = closure.missing.iter().map(|name| one_line(name).into_owned());
            report.missing_libraries = missing.collect();
        }
    }

    /// Checks the members of an archive that are ELF files, and names those that are recognised as something else.
    pub(super) fn check_members<P: Product>(
        &self,
        bytes: &[u8],
        archive: Option<Archive>,
        path: &str,
        origin: Origin<'_>,
    ) -> Vec<Outcome<P>> {
        let Some(archive) = archive else { return Vec::new() };
        let chosen = chosen_by_resolvers(bytes, &archive);
        let families = families_of(bytes, &archive);
        let checked = archive.members.par_iter().filter_map(|member| {
            let object = bytes.get(member.range.clone()).filter(|object| object.starts_with(b"\x7fELF"))?;
            let path = format!("{path}({})", member.name);
            let families = families.iter().find(|(arch, _)| Some(*arch) == arch_of(object));
            let among = Siblings { chosen: Some(&chosen), families: families.map(|(_, families)| families) };
            Some(self.check_knowing(object, path, origin, (&[], among)))
        });
        let mut outcomes: Vec<Outcome<P>> = checked.collect();
        outcomes.extend(other_members(bytes, &archive, path));
        outcomes.extend(archive.faults.into_iter().map(|reason| {
            let (path, named) = (path.to_owned(), origin.is_named());
            Outcome::Incomplete(Skipped { path, reason, named, fault: true, ..Skipped::default() })
        }));
        outcomes
    }

    /// Checks the functions of a jitdump. Mostly they are one program; several parts are named by their addresses.
    fn check_jit<P: Product>(&self, jit: JitImages, file: &InputFile) -> Vec<Outcome<P>> {
        if jit.images.is_empty() {
            let reason = jit.faults.into_iter().next();
            return vec![skipped(file, reason.unwrap_or_else(|| "a jitdump without functions".to_owned()))];
        }
        let path = file.path.shown().into_owned();
        let is_whole = jit.images.len() == 1;
        let checked = |image: &JitImage| {
            let path = if is_whole { path.clone() } else { format!("{path}({:#x})", image.extent.start) };
            let is_named = file.is_named();
            let part = Some(JitPart { dump: &file.place, image });
            let provenance = Provenance {
                path: &path,
                file: None,
                siblings: Siblings::default(),
                held: None,
                root: None,
                stored_at: None,
                is_packed: false,
                is_named,
                jit: part,
            };
            let mut outcome: Outcome<P> = self.check_as(&image.elf, provenance, &[]);
            if let Outcome::Checked { product, .. } = &mut outcome {
                product.report().faults.extend(jit.faults.iter().cloned());
            }
            outcome
        };
        jit.images.iter().map(checked).collect()
    }

    pub(super) fn check_bytes<P: Product>(
        &self,
        bytes: &[u8],
        path: String,
        origin: Origin<'_>,
    ) -> Outcome<P> {
        self.check_knowing(bytes, path, origin, (&[], Siblings::default()))
    }

    /// `foreign`: what its libraries show. `siblings`: of an archive's member, what the other members show.
    fn check_knowing<P: Product>(
        &self,
        bytes: &[u8],
        path: String,
        origin: Origin<'_>,
        (foreign, siblings): (&[&Knowledge], Siblings<'_>),
    ) -> Outcome<P> {
        let file = match origin {
            Origin::File(file) if !file.is_stdin => Some(file.place.as_path()),
            _ => None,
        };
        let own = match origin {
            Origin::File(_) if self.plan.analysis.claims => claims::of_file(&path, bytes, arch_of(bytes)),
            _ => None,
        };
        let (held, root, stored_at) = match origin {
            Origin::Member { held, stored_at } => (held, None, stored_at),
            Origin::File(_) => (own.as_deref(), self.plan.root.as_deref(), None),
        };
        let is_packed = matches!(origin, Origin::Member { .. });
        let is_named = origin.is_named();
        let (path, jit) = (path.as_str(), None);
        let provenance = Provenance { path, file, siblings, held, root, stored_at, is_packed, is_named, jit };
        self.check_as(bytes, provenance, foreign)
    }

    /// Checks one ELF file of a known provenance.
    fn check_as<P: Product>(
        &self,
        bytes: &[u8],
        provenance: Provenance<'_>,
        foreign: &[&Knowledge],
    ) -> Outcome<P> {
        let make = |bytes: &[u8], request: &Request<'_>| P::of(bytes, request, self.plan);
        let path = provenance.path.to_owned();
        match self.plan.analysis.run(bytes, provenance, foreign, make) {
            Ok(mut product) => {
                product.report().path = path;
                Outcome::Checked { product: Box::new(product), bytes: bytes.len() as u64 }
            }
            Err(Refusal { reason, fault, kind }) => {
                let named = provenance.is_named;
                let fault = fault || (named && kind.is_some());
                let bytes = Some(bytes.len() as u64);
                Outcome::Skipped(Skipped { path, reason, named, fault, kind, bytes, is_part: false })
            }
        }
    }
}

pub(super) fn skipped<P>(file: &InputFile, reason: String) -> Outcome<P> {
    let path = file.path.shown().into_owned();
    Outcome::Skipped(Skipped { path, reason, named: file.is_named(), fault: true, ..Skipped::default() })
}

/// The members of an archive that are not ELF: objects for other systems by what they are, the rest by their number.
fn other_members<P>(bytes: &[u8], archive: &Archive, path: &str) -> Vec<Outcome<P>> {
    let mut outcomes = Vec::new();
    let mut others = 0;
    for member in &archive.members {
        let object = bytes.get(member.range.clone()).unwrap_or_default();
        match sniff(object) {
            Found::Elf => {}
            Found::Known(known) => {
                let (path, size) = (format!("{path}({})", member.name), Some(object.len() as u64));
                outcomes.push(Outcome::Recognised(Skipped::recognised(path, known.name(), size, false)));
            }
            _ => others += 1,
        }
    }
    outcomes.push(Outcome::PassedOver(others));
    outcomes
}

/// The families of the functions that the members of an archive define, by architecture.
fn families_of(bytes: &[u8], archive: &Archive) -> Vec<(Arch, Families)> {
    ARCHES.into_iter().map(|arch| (arch, families(arch, bytes, archive))).collect()
}

/// Whether a check in another file could change the verdict on a function.
fn is_open(report: &Report) -> bool {
    let mut reach = report.isa_functions.iter().map(|function| function.reach);
    reach.any(|reach| !matches!(reach, Reach::Guarded | Reach::Offered | Reach::Unreached))
}

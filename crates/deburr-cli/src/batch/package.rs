//! A package in the batch: what `deburr-package` finds in it → members at the board, and what could not be
//! read.
//!
//! In: the bytes of a package, or a folder that is an image. Out: outcomes, piece by piece, through the seat
//! of its file.

use super::artefact::Artefact;
use super::board::{Member, Seat};
use super::crew::{Crew, Origin};
use super::outcome::{Outcome, Product};
use super::variants::{Variants, binaries};
use crate::analysis::claims::Book;
use crate::input::content::arch_of;
use crate::input::gate::Pass;
use crate::input::image_layout::ImageLayout;
use crate::input::mapped::Bytes;
use crate::input::walk::{InputFile, Skipped};
use deburr_core::image::Archive;
use deburr_package::claim::{claims, claims_of_layout};
use deburr_package::{Kind, Known, Object, Sink, Stopped, read, read_appended, read_layout};
use deburr_text::ShownPath as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Takes what one package holds.
struct Taker<'t, 'b, 'a, P> {
    crew: &'a Crew<'a>,
    seat: &'t mut Seat<'b, 'a, P>,
    file: &'t InputFile,
    path: String,
    /// The claims of the package.
    book: Book,
    /// What its variants are held to.
    variants: Variants<'t>,
    binaries: u64,
    held_to_nothing: u64,
    others: u64,
    excluded: u64,
    /// Bytes of the package read so far.
    read: u64,
    /// Faults of the package, or of what a program carries.
    faults: u64,
}

impl<'t, 'b, 'a, P> Taker<'t, 'b, 'a, P> {
    fn new(
        (crew, seat, file): (&'a Crew<'a>, &'t mut Seat<'b, 'a, P>, &'t InputFile),
        book: Book,
        variants: Variants<'t>,
    ) -> Taker<'t, 'b, 'a, P> {
        let path = file.path.shown().into_owned();
        Taker {
            crew,
            seat,
            file,
            path,
            book,
            variants,
            binaries: 0,
            held_to_nothing: 0,
            others: 0,
            excluded: 0,
            read: 0,
            faults: 0,
        }
    }
}

impl<'a, P: Product> Sink for Taker<'_, '_, 'a, P> {
    type Permit = Pass<'a>;

    fn admit(&mut self, bytes: u64) -> Result<Pass<'a>, Stopped> {
        self.seat.wait_for_room()?;
        Ok(self.crew.gate.pass(bytes))
    }

    fn hold(&mut self, bytes: u64) -> Result<(), Stopped> {
        // Each thread may hold its share of the budget, and one package more: that whose turn it is.
        match bytes > self.crew.gate.share() {
            true => self.seat.wait_for_turn(),
            false => Ok(()),
        }
    }

    fn object(&mut self, object: Object, pass: Pass<'a>) -> Result<(), Stopped> {
        if self.crew.plan.excluded.has(&object.path) {
            self.excluded += 1;
            return Ok(());
        }
        let arch = arch_of(&object.bytes);
        let held = self.book.of_member(&object.path, arch);
        let held = held.map(|held| self.variants.of_member(&object.path, arch, held));
        // What is of no architecture that is read is held to nothing anyway.
        let is_read = arch.is_some() || object.kind == Kind::Archive;
        self.binaries += u64::from(is_read);
        self.held_to_nothing += u64::from(is_read && held.is_none());
        self.seat.check(Member { object, held, pass });
        Ok(())
    }

    fn pass_over(&mut self) {
        self.others += 1;
    }

    fn recognise(&mut self, path: String, known: Known, bytes: Option<u64>) -> Result<(), Stopped> {
        if self.crew.plan.excluded.has(&path) {
            self.excluded += 1;
            return Ok(());
        }
        self.seat.wait_for_room()?;
        let skipped = Skipped::recognised(path, known.name(), bytes, false);
        self.seat.push(vec![Outcome::Recognised(skipped)]);
        Ok(())
    }

    fn skip(&mut self, path: String, reason: String, fault: bool) -> Result<(), Stopped> {
        if path != self.path && self.crew.plan.excluded.has(&path) {
            self.excluded += 1;
            return Ok(());
        }
        self.seat.wait_for_room()?;
        self.faults += u64::from(fault);
        // A member is not named by the user, as a file in a folder is not.
        let named = path == self.path && self.file.is_named();
        let skipped = Skipped { path, reason, named, fault, ..Skipped::default() };
        self.seat.push(vec![if fault { Outcome::Incomplete(skipped) } else { Outcome::Skipped(skipped) }]);
        Ok(())
    }

    fn progress(&mut self, bytes: u64) {
        self.seat.count(bytes.saturating_sub(self.read));
        self.read = self.read.max(bytes);
    }
}

impl<'a> Crew<'a> {
    /// Reads a package; its members are checked meanwhile. Returns what is left to report.
    pub(super) fn check_package<P: Product>(
        &'a self,
        file: &InputFile,
        bytes: Option<&Bytes>,
        seat: &mut Seat<'_, 'a, P>,
    ) -> Vec<Outcome<P>> {
        let path = file.path.shown().into_owned();
        let limits = &self.plan.limits;
        let named = file.is_named();
        let mut outcomes: Vec<Outcome<P>> = Vec::new();
        // What cannot be read of it is reported where it is read for its members.
        let claims = || match bytes {
            Some(bytes) => claims(&path, bytes, limits),
            None => claims_of_layout(&path, &ImageLayout::new(&file.place)),
        };
        let mut book = Book::default();
        if self.plan.analysis.claims {
            let found = catch_unwind(AssertUnwindSafe(claims)).unwrap_or_default();
            let (known, said) = Book::of(&found);
            book = known;
            outcomes.extend(said.into_iter().map(|(path, reason)| {
                Outcome::Incomplete(Skipped { path, reason, named, fault: true, ..Skipped::default() })
            }));
        }
        if self.plan.describes {
            let artefact = match bytes {
                Some(bytes) => Artefact::of(&path, bytes, limits),
                None => Artefact::of_layout(&path, &ImageLayout::new(&file.place)),
            };
            seat.push(vec![Outcome::Described(Box::new(artefact))]);
        }
        let list = || match bytes {
            Some(bytes) => binaries(|names| read(&path, bytes, limits, names)),
            None => binaries(|names| read_layout(&path, &ImageLayout::new(&file.place), limits, names)),
        };
        let mut taker = Taker::new((self, seat, file), book, Variants::new(&list));
        // A panic must cost one package and not the batch.
        let result = catch_unwind(AssertUnwindSafe(|| match bytes {
            Some(bytes) => read(&path, bytes, limits, &mut taker),
            None => read_layout(&path, &ImageLayout::new(&file.place), limits, &mut taker),
        }));
        outcomes.push(Outcome::PassedOver(taker.others));
        outcomes.push(Outcome::Excluded(taker.excluded));
        let said = self
            .plan
            .analysis
            .claims
            .then(|| taker.book.silence(taker.binaries, taker.held_to_nothing))
            .flatten();
        let rest = file.size.saturating_sub(taker.read);
        seat.count(rest);
        let mut skipped = |reason: &str| {
            let (path, reason) = (path.clone(), reason.to_owned());
            let skipped = Skipped { path, reason, named, fault: true, ..Skipped::default() };
            outcomes.push(Outcome::Incomplete(skipped));
        };
        if let Some(silence) = said {
            skipped(&silence);
        }
        if result.is_err() {
            skipped("deburr itself failed on this package; please report it");
        }
        if bytes
            .is_some_and(|bytes| !file.is_stdin && (!bytes.is_intact() || bytes.len() as u64 != file.size))
        {
            skipped("the file changed while it was read");
        }
        outcomes
    }

    /// Reads what a program carries; the members are checked meanwhile. Returns what is left to report: the program itself comes
    /// last, as what it carries belongs to its answer.
    pub(super) fn check_carried<P: Product>(
        &'a self,
        file: &InputFile,
        (bytes, mut of_program): (&Bytes, Vec<Outcome<P>>),
        seat: &mut Seat<'_, 'a, P>,
    ) -> Vec<Outcome<P>> {
        let path = file.path.shown().into_owned();
        let limits = &self.plan.limits;
        let list = || binaries(|names| read_appended(&path, bytes, limits, names));
        let mut taker = Taker::new((self, seat, file), Book::default(), Variants::new(&list));
        let result = catch_unwind(AssertUnwindSafe(|| read_appended(&path, bytes, limits, &mut taker)));
        let mut outcomes = vec![Outcome::PassedOver(taker.others), Outcome::Excluded(taker.excluded)];
        if result.is_err() {
            let reason = "deburr itself failed on what this program carries; please report it".to_owned();
            let (path, named) = (path.clone(), file.is_named());
            let skipped = Skipped { path, reason, named, fault: true, ..Skipped::default() };
            outcomes.push(Outcome::Incomplete(skipped));
        }
        if result.is_err() || taker.faults > 0 {
            self.add_lacking(bytes, &mut of_program);
        }
        outcomes.append(&mut of_program);
        outcomes
    }

    /// Checks a member of a package.
    pub(super) fn check_member<P: Product>(&self, member: Member<'_>) -> Vec<Outcome<P>> {
        let Member { object: Object { path, kind, bytes, stored_at, lacks }, held, pass: _pass } = member;
        let origin = Origin::Member { held: held.as_deref(), stored_at };
        let check = || match kind {
            Kind::Elf => {
                let mut outcomes = vec![self.check_bytes(&bytes, path.clone(), origin)];
                self.add_carried(&bytes, (&path, false), &mut outcomes);
                if lacks {
                    self.add_lacking(&bytes, &mut outcomes);
                }
                outcomes
            }
            Kind::Archive => match Archive::parse(&bytes) {
                Ok(archive) => self.check_members(&bytes, archive, &path, origin),
                Err(error) => {
                    let (path, reason) = (path.clone(), error.to_string());
                    let skipped = Skipped { path, reason, fault: true, ..Skipped::default() };
                    vec![Outcome::Skipped(skipped)]
                }
            },
        };
        match self.pool_for(bytes.len() as u64) {
            Some(pool) => pool.install(check),
            None => check(),
        }
    }
}

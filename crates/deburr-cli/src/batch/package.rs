//! A package in the batch: what `deburr-package` finds in it → members at the board, and what could not be
//! read.
//!
//! In: the bytes of a package, or a folder that is an image. Out: outcomes, piece by piece, through the seat
//! of its file.

use super::artefact::Artefact;
use super::board::{Member, Seat};
use super::claims::Book;
use super::crew::{Crew, Origin};
use super::outcome::{Outcome, Product};
use super::variants::{Variants, binaries};
use crate::input::content::arch_of;
use crate::input::gate::Pass;
use crate::input::image_layout::ImageLayout;
use crate::input::mapped::Bytes;
use crate::input::walk::{InputFile, Skipped};
use deburr_core::image::Archive;
use deburr_package::claim::{claims, claims_of_layout};
use deburr_package::{Kind, Object, Sink, Stopped, read, read_layout};
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

    fn skip(&mut self, path: String, reason: String, fault: bool) -> Result<(), Stopped> {
        if path != self.path && self.crew.plan.excluded.has(&path) {
            self.excluded += 1;
            return Ok(());
        }
        self.seat.wait_for_room()?;
        // A member is not named by the user, as a file in a folder is not.
        let named = path == self.path && self.file.is_named();
        let skipped = Skipped { path, reason, named, fault };
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
        let path = file.path.display().to_string();
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
            outcomes.extend(
                said.into_iter()
                    .map(|(path, reason)| Outcome::Incomplete(Skipped { path, reason, named, fault: true })),
            );
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
        let mut taker = Taker {
            crew: self,
            seat,
            file,
            path: path.clone(),
            book,
            variants: Variants::new(&list),
            binaries: 0,
            held_to_nothing: 0,
            others: 0,
            excluded: 0,
            read: 0,
        };
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
            outcomes.push(Outcome::Incomplete(Skipped { path, reason, named, fault: true }));
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

    /// Checks a member of a package.
    pub(super) fn check_member<P: Product>(&self, member: Member<'_>) -> Vec<Outcome<P>> {
        let Member { object: Object { path, kind, bytes }, held, pass: _pass } = member;
        let origin = Origin::Member(held.as_deref());
        let check = || match kind {
            Kind::Elf => vec![self.check_bytes(&bytes, path.clone(), origin)],
            Kind::Archive => match Archive::parse(&bytes) {
                Ok(archive) => self.check_members(&bytes, archive, &path, origin),
                Err(error) => {
                    let (path, reason) = (path.clone(), error.to_string());
                    vec![Outcome::Skipped(Skipped { path, reason, named: false, fault: true })]
                }
            },
        };
        match self.pool_for(bytes.len() as u64) {
            Some(pool) => pool.install(check),
            None => check(),
        }
    }
}

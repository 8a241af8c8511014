//! What programs carry that nothing opens: each is told, and a program with machine code that nobody has read is not known to run.
//!
//! In: the bytes of a program that was checked. Out: an outcome for each thing, and the payloads of its report.

use super::crew::Crew;
use super::outcome::{Outcome, Product};
use crate::input::walk::Skipped;
use deburr_core::report::UnreadPayload;
use deburr_package::{Appended, Reading, appended};

impl Crew<'_> {
    /// Whether a program carries something that is to be read.
    pub(super) fn opens(&self, bytes: &[u8]) -> bool {
        let is_read = |part: &Appended| part.reading == Reading::Opens;
        self.plan.limits.depth > 0 && appended(bytes).iter().any(is_read)
    }

    /// Adds what a program carries and is not read to what became of it.
    pub(super) fn add_carried<P: Product>(
        &self,
        bytes: &[u8],
        (path, named): (&str, bool),
        outcomes: &mut Vec<Outcome<P>>,
    ) {
        let is_read = |part: &Appended| part.reading == Reading::Opens && self.plan.limits.depth > 0;
        for part in appended(bytes).into_iter().filter(|part| !is_read(part)) {
            let reason = reason(&part);
            let size = Some(part.range.len() as u64);
            if part.reading != Reading::Inert {
                add_payload(&part, &reason, outcomes);
            }
            let path = path.to_owned();
            let skipped = Skipped { path, reason, named, is_part: true, bytes: size, ..Skipped::default() };
            outcomes.push(Outcome::Recognised(skipped));
        }
    }

    /// Notes that something that a program carries was opened, and could not be read to its end.
    pub(super) fn add_lacking<P: Product>(&self, bytes: &[u8], outcomes: &mut [Outcome<P>]) {
        for part in appended(bytes).iter().filter(|part| part.reading == Reading::Opens) {
            let (name, size, at) = (part.name, part.range.len(), part.range.start);
            add_payload(part, &format!("{name}, {size} bytes at {at:#x}: not read to its end"), outcomes);
        }
    }
}

/// Adds a payload to the report of a program, which may have a description before it.
fn add_payload<P: Product>(part: &Appended, reason: &str, outcomes: &mut [Outcome<P>]) {
    for outcome in outcomes {
        if let Outcome::Checked { product, .. } = outcome {
            let (offset, bytes) = (part.range.start as u64, part.range.len() as u64);
            let payload = UnreadPayload::new(part.name.to_owned(), offset, bytes, reason.to_owned());
            product.report().add_unread_payload(payload);
        }
    }
}

/// Why it was not read, with its format and size.
fn reason(part: &Appended) -> String {
    let (name, size, at) = (part.name, part.range.len(), part.range.start);
    let place = if at == 0 { String::new() } else { format!(" at {at:#x}") };
    match part.reading {
        Reading::Inert => format!("{name}, {size} bytes{place}: not read, and left out of the answer"),
        Reading::Opens => format!("{name}, {size} bytes{place}: not read (--max-depth)"),
        Reading::Closed => format!("{name}, {size} bytes{place}: not read"),
    }
}

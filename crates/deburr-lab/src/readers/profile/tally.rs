//! Weights as they come → a profile, each function once.
//!
//! What is kept is bounded: a profile with more names than any program has is refused.

use super::sample::{Profile, ProfiledFunction, Unit, Weight};
use crate::readers::error::ReadError;
use std::collections::HashMap;

/// The most functions that are kept. LLVM has some 200,000.
const MOST_FUNCTIONS: usize = 1 << 20;
/// The most bytes of names that are kept, each object once and each name once for its object.
const MOST_BYTES: usize = 256 << 20;

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    objects: HashMap<String, HashMap<String, Weight>>,
    functions: usize,
    bytes: usize,
    kernel: Weight,
    nameless: Weight,
}

impl Tally {
    /// Adds what was seen of a function.
    pub(super) fn function(
        &mut self,
        line: usize,
        object: &str,
        name: &str,
        weight: Weight,
    ) -> Result<(), ReadError> {
        let known = self.objects.get_mut(object).and_then(|names| names.get_mut(name));
        if let Some(known) = known {
            known.add(weight);
            return Ok(());
        }
        self.functions += 1;
        self.bytes += name.len() + if self.objects.contains_key(object) { 0 } else { object.len() };
        if self.functions > MOST_FUNCTIONS || self.bytes > MOST_BYTES {
            return Err(ReadError::line(
                line,
                format!(
                    "more than {MOST_FUNCTIONS} functions, or {} MiB of names, up to here: no profile of one program",
                    MOST_BYTES >> 20
                ),
            ));
        }
        self.objects.entry(object.to_owned()).or_default().insert(name.to_owned(), weight);
        Ok(())
    }

    /// Adds what was seen of the kernel.
    pub(super) fn kernel(&mut self, weight: Weight) {
        self.kernel.add(weight);
    }

    /// Adds what was seen where no name is known.
    pub(super) fn nameless(&mut self, weight: Weight) {
        self.nameless.add(weight);
    }

    /// The whole profile.
    pub(super) fn finish(self, unit: Unit) -> Profile {
        let mut functions: Vec<(ProfiledFunction, Weight)> = Vec::with_capacity(self.functions);
        for (object, names) in self.objects {
            functions.extend(
                names
                    .into_iter()
                    .map(|(name, weight)| (ProfiledFunction { object: object.clone(), name }, weight)),
            );
        }
        functions.sort_by(|(one, _), (other, _)| one.cmp(other));
        Profile { unit, functions, kernel: self.kernel, nameless: self.nameless }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_names_than_any_program_has_are_refused() {
        let mut tally = Tally::default();
        let one = Weight { samples: 1, sum: 1.0, squares: 1.0 };
        let name = "x".repeat(1 << 20);
        let full = (1..).find_map(|line| {
            let name = format!("{name}{line}");
            tally.function(line, "object", &name, one).err()
        });
        let full = full.map(|error| error.to_string()).unwrap_or_default();
        assert!(full.starts_with("line 256: more than 1048576 functions, or 256 MiB of names"), "{full}");
        // What is known already takes no further room.
        assert!(tally.function(1, "object", &format!("{name}1"), one).is_ok());
    }
}

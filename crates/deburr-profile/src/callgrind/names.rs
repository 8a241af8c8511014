//! Names by their numbers: `(7) main` defines one, `(7)` refers to it.

use crate::error::Error;
use crate::gather::{Gather, NameId};
use std::collections::HashMap;

/// The most numbers of names.
const MOST: usize = 1 << 21;

/// The names of objects, or of functions.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashMap<u64, NameId>,
}

impl Names {
    /// The name that a line gives, after what `prepare` makes of it.
    pub(super) fn name(
        &mut self,
        gather: &mut Gather,
        text: &str,
        offset: u64,
        prepare: impl Fn(&str) -> &str,
    ) -> Result<NameId, Error> {
        let numbered = text.strip_prefix('(').and_then(|text| text.split_once(')'));
        // A name of its own may begin with a parenthesis: `(below main)`.
        let numbered = numbered.and_then(|(id, name)| Some((id.parse::<u64>().ok()?, name.trim())));
        let Some((id, name)) = numbered else { return gather.name(prepare(text), offset) };
        if name.is_empty() {
            let known = self.known.get(&id).copied();
            return known
                .ok_or_else(|| Error::new(offset, format!("a name that a line before gives to ({id})")));
        }
        let name = gather.name(prepare(name), offset)?;
        if self.known.len() >= MOST {
            return Err(Error::new(offset, format!("at most {MOST} numbered names up to here")));
        }
        self.known.insert(id, name);
        Ok(name)
    }
}

//! The entries of an archive of any kind.

use crate::entry::{Entry, Kind, Selection};
use crate::error::{Error, Remarks};
use crate::fetch::Fetch;
use crate::{debian, pypi, rpm};

/// Calls `found` for each package that is selected, and says what was left out. Each path is found once.
///
/// By default the newest version of each package and architecture is found, once all indices were read, in order of their names; with
/// `all_versions` each package as it is met. What was found before an error is in the archive, and there is more.
///
/// # Errors
/// Where the selection lacks something or names what the archive does not have; where an index cannot be read, is cut off, is not what
/// another states of it, or is not what it should be. The page of a Python project is none of these once it was opened: where it is
/// faulty, all of that project is left out, which is a remark.
pub fn entries(
    fetch: &dyn Fetch,
    kind: Kind,
    selection: &Selection,
    found: &mut dyn FnMut(Entry),
) -> Result<Remarks, Error> {
    match kind {
        Kind::Debian => debian::entries(fetch, selection, found),
        Kind::Rpm => rpm::entries(fetch, selection, found),
        Kind::PyPi => pypi::entries(fetch, selection, found),
    }
}

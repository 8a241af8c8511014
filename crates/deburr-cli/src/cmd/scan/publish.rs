//! What became of the items → the shard of the scan, in the order of their paths.

use super::cache::Cache;
use super::course::Fate;
use super::written::Note;
use crate::output::shard::{Place, ShardFiles};
use deburr_tables::{Error, Rows, Shard, replay};

/// What is in a shard.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Published {
    pub(super) shard: String,
    /// What could not be checked: of items, and of what is in them.
    pub(super) faults: Vec<(String, String)>,
}

/// Writes the shard to files that are open. `run`: when the scan began, in microseconds since 1970. `note`: what the same scan
/// wrote before, if it has a name.
///
/// # Errors
/// With the path, for people.
pub(super) fn publish(
    (files, mut shard): (ShardFiles, Shard<Place>),
    (cache, note): (&Cache, Option<&Note>),
    run: i64,
    fates: &[(String, Fate)],
) -> Result<Published, String> {
    let told = |error: Error| error.to_string();
    let mut faults = Vec::new();
    for (path, fate) in fates {
        match fate {
            Fate::Kept(key) => {
                let kept = cache.get(key).ok_or_else(|| {
                    format!(
                        "{path}: its rows have gone from the cache meanwhile; the next scan checks it again"
                    )
                })?;
                replay(kept.rows(), run, &mut shard).map_err(told)?;
                faults.extend(kept.faults);
            }
            Fate::Failed(reason) => faults.push((path.clone(), reason.clone())),
        }
    }
    let mut failed = Rows::new(run, shard);
    for (path, fate) in fates {
        if let Fate::Failed(reason) = fate {
            failed.failure(path, reason).map_err(told)?;
        }
    }
    let shard = failed.finish().map_err(told)?;
    let replace = |name: &str| note.map_or(Ok(()), |note| note.replace(name));
    Ok(Published { shard: files.publish(shard, replace)?, faults })
}

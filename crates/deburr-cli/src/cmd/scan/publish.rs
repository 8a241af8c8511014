//! What became of the items → the shard of the scan, in the order of their paths.

use super::cache::Cache;
use super::work::Fate;
use crate::output::shard::{Place, ShardFiles};
use deburr_tables::{Batches, Error, Rows, Shard, replay};

/// What is in a shard.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Published {
    pub(super) shard: String,
    /// What could not be checked: of items, and of what is in them.
    pub(super) faults: Vec<(String, String)>,
}

/// Writes the shard to files that are open. `run`: when the scan began, in microseconds since 1970.
///
/// # Errors
/// With the path, for people.
pub(super) fn publish(
    (files, mut shard): (ShardFiles, Shard<Place>),
    cache: &Cache,
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
            Fate::Failed(reason) => {
                let mut rows = Rows::new(run, Vec::new());
                rows.failure(path, reason).map_err(|error| error.to_string())?;
                for (table, rows) in rows.finish().map_err(|error| error.to_string())? {
                    shard.take(table, rows).map_err(told)?;
                }
                faults.push((path.clone(), reason.clone()));
            }
        }
    }
    Ok(Published { shard: files.publish(shard)?, faults })
}

//! The trees that are to be laid out → whether each is what its level says.
//!
//! In: the variants. Out: how the check of each went, and those without an instruction of their level; or all faults of all variants. A file that no program
//! of this architecture is, and that all trees hold byte for byte, is no fault: it is copied as it is.

use super::{AssembleError, Request, Source};
use crate::check::{Fault, Terms, check_tree};
use crate::record::CheckRecord;
use deburr_cpu::Target;
use std::fs;
use std::path::Path;

/// How the trees of variants were checked.
#[derive(Debug, Default)]
pub struct Soundness {
    /// For each variant, in the order of the request, how its check went.
    pub checks: Vec<CheckRecord>,
    /// Levels that have no instruction of their own, each with the level that is enough.
    pub nothing_above: Vec<(String, String)>,
}

/// Checks the trees of all variants. `follow` gets a level, how many of its files are checked, and how many there are.
///
/// # Errors
/// [`AssembleError::Faults`], and [`AssembleError::Io`].
pub fn check_sources(
    request: &Request,
    terms: &Terms<'_>,
    follow: &mut dyn FnMut(&str, usize, usize),
) -> Result<Soundness, AssembleError> {
    let (mut faults, mut sound) = (Vec::new(), Soundness::default());
    for source in &request.sources {
        let level = source.level.as_str();
        let target = Target { name: source.level.clone(), arch: source.arch, features: source.features };
        let checked = check_tree(&source.tree, &target, terms, &mut |done, all| follow(level, done, all))
            .map_err(|(path, error)| AssembleError::Io(path, error))?;
        let others = request.sources.iter().map(|other| (other.level.as_str(), other.features));
        if let Some(below) = checked.nothing_above(source.features, others) {
            sound.nothing_above.push((source.level.clone(), below.to_owned()));
        }
        sound.checks.push(checked.record());
        for fault in checked.faults {
            if fault.function.is_some() || !is_same_everywhere(&request.sources, &fault.path)? {
                faults.push((source.level.clone(), Fault { path: source.tree.join(&fault.path), ..fault }));
            }
        }
    }
    if faults.is_empty() { Ok(sound) } else { Err(AssembleError::Faults(faults)) }
}

/// Whether all trees have the same bytes at a path.
fn is_same_everywhere(sources: &[Source], path: &Path) -> Result<bool, AssembleError> {
    let mut first: Option<Vec<u8>> = None;
    for source in sources {
        let whole = source.tree.join(path);
        let bytes = match fs::read(&whole) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(AssembleError::Io(whole, error)),
        };
        match &first {
            Some(first) if *first != bytes => return Ok(false),
            Some(_) => {}
            None => first = Some(bytes),
        }
    }
    Ok(true)
}

//! Draws which room of a crate imports which: one SVG a crate, with `src/` first, then each folder that has folders or a knot.
//!
//! In: the sources of the crates, read by [`crate::imports`]. Out: `<crate>.svg` files, the same bytes for the same sources.
//! Layers follow Sugiyama, Tagawa and Toda, *Methods for visual understanding of hierarchical system structures*, 1981.

mod draw;
mod layout;
#[cfg(test)]
mod tests;

use crate::imports::{Imports, Rooms};
use std::fs;
use std::path::{Path, PathBuf};

/// Draws each crate of the repository into a folder, and prints the knots.
pub fn run(repository: &Path, folder: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("rooms: {}: {error}", path.display());
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, root) in crates(&repository.join("crates"))? {
        let rooms = Imports::read(&root).rooms();
        for knot in rooms.iter().flat_map(Rooms::knots) {
            let knotted: Vec<&str> = knot.rooms.iter().map(String::as_str).collect();
            println!("{name}/src/{}: a knot of {}", knot.folder, knotted.join(", "));
        }
        let path = folder.join(format!("{name}.svg"));
        fs::write(&path, draw::document(&name, &rooms)).map_err(|error| failed(&path, error))?;
    }
    println!("rooms: drawn in {}", folder.display());
    Ok(())
}

/// The crates in a folder: the name and the root file of each.
fn crates(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let listed = fs::read_dir(folder).map_err(|error| format!("rooms: {}: {error}", folder.display()))?;
    let mut found = Vec::new();
    for entry in listed.filter_map(Result::ok) {
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| entry.path().join(root));
        let root = roots.into_iter().find(|root| root.exists());
        found.extend(root.map(|root| (entry.file_name().to_string_lossy().into_owned(), root)));
    }
    found.sort();
    Ok(found)
}

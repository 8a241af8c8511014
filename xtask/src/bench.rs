//! Placeholder.

/// Runs the measurements.
pub fn run(_quick: bool) -> Result<(), String> {
    Err("not yet".to_owned())
}

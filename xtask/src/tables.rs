//! The table of the sweep's decoder for x86-64: what iced-x86 decodes → `insn/x86_64/quick/table.rs`.

use crate::repository;
use std::fs;
use std::process::Command;

/// Where the table is.
const TABLE: &str = "crates/deburr-core/src/insn/x86_64/quick/table.rs";

/// Makes the table and compares it with the committed one; with `bless`, writes it.
pub fn run(bless: bool) -> Result<(), String> {
    let mut make = Command::new(env!("CARGO"));
    make.args(["run", "--release", "--quiet", "-p", "deburr-core", "--example", "quick_table_x86_64"]);
    let made = make.current_dir(repository()).output().map_err(|error| format!("x86-tables: {error}"))?;
    if !made.status.success() {
        return Err(format!("x86-tables: {}\n{}", made.status, String::from_utf8_lossy(&made.stderr)));
    }
    let path = repository().join(TABLE);
    let fault = |error: std::io::Error| format!("{}: {error}", path.display());
    if bless {
        return fs::write(&path, made.stdout).map_err(fault);
    }
    if fs::read(&path).map_err(fault)? == made.stdout {
        Ok(())
    } else {
        Err(format!("{TABLE} is not what iced-x86 decodes now: `cargo xtask x86-tables --bless` writes it"))
    }
}

//! The developers' tasks: `cargo xtask <task>`. Each is a module; this file only chooses.

mod advisories;
mod book;
mod corpus;
mod fixtures;
mod fuzz;
mod instructions;
mod launcher;
mod nightly;
mod same;
mod selector;
mod tables;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>

  advisories [PATH]    writes what RustSec says of our dependencies to xtask/advisories.toml, from a clone of its database
  book [DIR]           builds the documentation as a site, in DIR or target/book; mdbook is needed
  corpus [SECONDS]     grows the committed inputs of the fuzz targets for so long (default 1200), and minimises them
  fixtures [--bless]   assemble the rules' fixtures and compare with the committed objects; --bless writes them
  instructions [--bless] counts the instructions that check takes for tests/instructions/, and compares; --bless writes them
  launcher [--bless]   compile the launcher and the selector and compare with the prebuilt code; --bless writes it
  nightly [SECONDS]    what is too long for every push: larger packages, exhaustive tests, fuzzing for so long (default 600)
  rooms [DIR]          draw which room of each crate imports which, as SVG files in DIR or target/rooms, and list the knots
  same REVISION        whether this tree and that revision give the same JSON for 250 real files, byte for byte
  x86-tables [--bless] make the table of the x86-64 sweep and compare with the committed one; --bless writes it
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["advisories"] => advisories::run(None),
        ["advisories", database] => advisories::run(Some(database.as_ref())),
        ["book"] => book::run(None),
        ["book", site] => book::run(Some(site.as_ref())),
        ["corpus"] => corpus::grow(1200),
        ["corpus", seconds] => match seconds.parse() {
            Ok(seconds) => corpus::grow(seconds),
            Err(_) => Err(USAGE.to_owned()),
        },
        ["fixtures"] => fixtures::run(false),
        ["fixtures", "--bless"] => fixtures::run(true),
        ["instructions"] => instructions::run(false),
        ["instructions", "--bless"] => instructions::run(true),
        ["launcher"] => launcher::run(false).and_then(|()| selector::run(false)),
        ["launcher", "--bless"] => launcher::run(true).and_then(|()| selector::run(true)),
        ["nightly"] => nightly::run(600),
        ["nightly", seconds] => match seconds.parse() {
            Ok(seconds) => nightly::run(seconds),
            Err(_) => Err(USAGE.to_owned()),
        },
        ["rooms"] => xtask::rooms::run(repository(), &repository().join("target/rooms")),
        ["rooms", folder] => xtask::rooms::run(repository(), folder.as_ref()),
        ["same", revision] => same::run(revision),
        ["x86-tables"] => tables::run(false),
        ["x86-tables", "--bless"] => tables::run(true),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn repository() -> &'static std::path::Path {
    let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

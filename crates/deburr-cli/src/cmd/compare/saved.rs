//! Programs that are kept under a name, so that a later build is compared with them, run by run in pairs, and not
//! with numbers of another day.
//!
//! In: `--save NAME` and what was measured, or `--against NAME|RECORD`. Out: a folder of the state directory with a
//! copy of the program and how it was run; or the options with A and B filled in. A copy that is no longer what
//! was saved is refused.

use super::plan::Contest;
use super::provenance::found;
use super::record_path;
use super::recorded;
use crate::args::compare::Compare;
use crate::input::mapped::Bytes;
use crate::system_error::error_text;
use deburr_core::image::build_id_of;
use deburr_lab::bench::moment::now;
use deburr_text::ShownPath as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The version of the form.
const FORMAT: u32 = 1;
/// What the parts of a saved program are called.
const PROGRAM: &str = "program";
const STATEMENT: &str = "saved.json";

/// How a saved program was run.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    format: u32,
    /// The command as it was given.
    command: String,
    /// `--env-b`.
    env: Vec<String>,
    /// When it was saved.
    saved: Option<String>,
    /// The file that was copied, and the digest of what was in it.
    path: String,
    sha256: String,
}

/// Refuses, before anything runs, what could not be saved later.
pub(super) fn check(options: &Compare, contests: &[Contest<'_>]) -> Result<(), String> {
    let Some(name) = &options.save else { return Ok(()) };
    folder(name)?;
    let [contest] = contests else {
        return Err("--save: of several comparisons it is not known whose B is meant".to_owned());
    };
    if options.trial.shell != "none" {
        return Err("--save: what a shell runs is not known; give the command without --shell".to_owned());
    }
    if !options.param.is_empty() {
        return Err("--save: a command with values of --param is several".to_owned());
    }
    program(contest.commands[1], options.trial.cwd.as_deref()).map(|_| ())
}

/// Keeps B's program.
pub(super) fn save(options: &Compare, contests: &[Contest<'_>]) -> Result<(), String> {
    let (Some(name), [contest]) = (&options.save, contests) else { return Ok(()) };
    let folder = folder(name)?;
    let command = contest.commands[1];
    let (_, path) = program(command, options.trial.cwd.as_deref())?;
    let complain =
        |at: &Path, error: io::Error| format!("--save {name}: {}: {}", at.shown(), error_text(&error));
    // Beside its place, so that an interrupt leaves what was there.
    let (new, old) = (beside(&folder, "new"), beside(&folder, "old"));
    for rest in [&new, &old] {
        let _ = fs::remove_dir_all(rest);
    }
    fs::create_dir_all(&new).map_err(|error| complain(&new, error))?;
    let copy = new.join(PROGRAM);
    fs::copy(&path, &copy).map_err(|error| complain(&path, error))?;
    let statement = Saved {
        format: FORMAT,
        command: command.to_owned(),
        env: options.env_b.clone(),
        saved: now(),
        path: path.shown().into_owned(),
        sha256: digest(&copy).map_err(|error| complain(&copy, error))?,
    };
    let place = new.join(STATEMENT);
    let text = serde_json::to_vec_pretty(&statement).map_err(|error| complain(&place, error.into()))?;
    fs::write(&place, text).map_err(|error| complain(&place, error))?;
    if folder.exists() {
        fs::rename(&folder, &old).map_err(|error| complain(&folder, error))?;
    }
    fs::rename(&new, &folder).map_err(|error| complain(&folder, error))?;
    let _ = fs::remove_dir_all(&old);
    Ok(())
}

/// The options with what `--against` names as A; `None` without it.
pub(super) fn resolved(options: &Compare) -> Result<Option<Compare>, String> {
    let Some(against) = &options.against else { return Ok(None) };
    if options.trial.shell != "none" {
        return Err("--against: what a shell runs is not known; give the command without --shell".to_owned());
    }
    let mut resolved = Compare { against: None, ..options.clone() };
    let path = Path::new(against);
    if against.contains('/') || path.is_file() {
        let command = recorded_command(path)?;
        if options.b.is_empty() {
            return Err(format!(
                "--against {against}: its program is still what was measured: give another one by --b"
            ));
        }
        resolved.a = Some(command);
        return Ok(Some(resolved));
    }
    let (folder, saved) = read(against)?;
    let copy = folder.join(PROGRAM);
    let sha256 = digest(&copy).map_err(|error| format!("{}: {}", copy.shown(), error_text(&error)))?;
    if sha256 != saved.sha256 {
        return Err(format!("{}: no longer what was saved; --save {against} keeps it anew", copy.shown()));
    }
    resolved.a = Some(with_program(&saved.command, &copy)?);
    resolved.env_a.clone_from(&saved.env);
    if options.b.is_empty() {
        resolved.b = vec![saved.command];
        if options.env_b.is_empty() {
            resolved.env_b = saved.env;
        }
    }
    if options.name.is_empty() {
        resolved.name = vec![against.clone()];
    }
    Ok(Some(resolved))
}

/// The command B of a record, whose program has to be what it was.
fn recorded_command(path: &Path) -> Result<String, String> {
    let at = path.shown();
    let header = match recorded::open(path)? {
        Some(record) => record.into_header(),
        None => return Err(format!("--against {at}: no record of deburr compare")),
    };
    if header.options.get("shell").is_some_and(|shell| shell != "none") {
        return Err(format!("--against {at}: a shell ran its command, and what that ran is not known"));
    }
    if header.options.contains_key("param") {
        return Err(format!("--against {at}: its command had values of --param, and is several"));
    }
    let program = header.provenance.as_ref().map(|provenance| &provenance.programs[1]);
    let known = program.and_then(|program| program.path.as_ref().zip(program.build_id.as_ref()));
    let Some((file, build_id)) = known else {
        return Err(format!(
            "--against {at}: it does not say which program it is of, as build-ids do; --save keeps programs"
        ));
    };
    let now = Bytes::open(Path::new(file)).ok().and_then(|bytes| build_id_of(&bytes));
    match now {
        Some(now) if now == *build_id => with_program(&header.commands[1], Path::new(file)),
        _ => Err(format!(
            "--against {at}: {file} is no longer the program of that record; --save keeps programs"
        )),
    }
}

/// Where something saved is; a name is one part of a path.
fn folder(name: &str) -> Result<PathBuf, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-+@".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(format!("{name:?}: names of what is saved have letters, digits and ._-+@"));
    }
    Ok(record_path::folder()?.join("saved").join(name))
}

/// Names beside a folder that nothing saved can have.
fn beside(folder: &Path, what: &str) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    folder.with_file_name(format!(".{name}.{what}"))
}

fn read(name: &str) -> Result<(PathBuf, Saved), String> {
    let folder = folder(name)?;
    let place = folder.join(STATEMENT);
    let text = match fs::read(&place) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unknown(name, &folder)),
        Err(error) => return Err(format!("{}: {}", place.shown(), error_text(&error))),
    };
    let saved: Saved =
        serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", place.shown()))?;
    match saved.format {
        FORMAT => Ok((folder, saved)),
        other => Err(format!("{}: format {other}, where this version knows {FORMAT}", place.shown())),
    }
}

/// That nothing has this name, and what there is.
fn unknown(name: &str, folder: &Path) -> String {
    let entries = folder.parent().and_then(|all| fs::read_dir(all).ok()).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    let there = match names.as_slice() {
        [] => "nothing is saved yet".to_owned(),
        names => format!("there are {}", names.join(", ")),
    };
    format!(
        "--against {name}: no record, and nothing saved under this name: {there}; --save {name} keeps a program"
    )
}

/// The words of a command, and the file of its program.
fn program(command: &str, cwd: Option<&Path>) -> Result<(Vec<String>, PathBuf), String> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| format!("{command:?}: no command"))?;
    let path = found(OsStr::new(&words[0]), cwd);
    let path = path.ok_or_else(|| format!("{}: no program that can be kept", words[0]))?;
    Ok((words, path))
}

/// The command with another program.
fn with_program(command: &str, program: &Path) -> Result<String, String> {
    let mut words = shlex::split(command).filter(|words| !words.is_empty()).ok_or("an empty command")?;
    words[0] =
        program.to_str().ok_or_else(|| format!("{}: a name that is no UTF-8", program.shown()))?.to_owned();
    shlex::try_join(words.iter().map(String::as_str)).map_err(|error| format!("{command:?}: {error}"))
}

fn digest(path: &Path) -> io::Result<String> {
    let digest = Sha256::digest(fs::read(path)?);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_part_of_a_path() {
        assert!(folder("main").is_ok_and(|path| path.ends_with("deburr/compare/saved/main")));
        for wrong in ["", "..", ".x", "a/b", "a b", "a\n"] {
            assert!(folder(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_command_gets_another_program_and_keeps_its_words() {
        let found = with_program("./x -c 'a b' {n}", Path::new("/a b/program"));
        assert_eq!(found.as_deref(), Ok("'/a b/program' -c 'a b' '{n}'"));
    }
}

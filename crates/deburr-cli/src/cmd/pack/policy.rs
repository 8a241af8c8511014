//! `deburr pack policy`: a laid-out tree → files of SELinux and AppArmor in a folder, and their names.

use crate::args::pack::policy::Policy;
use crate::cmd::failure::Failure;
use deburr_pack::policy::{Request, policy};
use deburr_text::ShownPath as _;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(options: &Policy, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let request = Request {
        folder: options.folder.clone(),
        name: options.name.clone(),
        contexts: options.selinux.clone(),
        domains: options.domains.clone(),
        is_for_apparmor: options.apparmor,
    };
    let policy = policy(&request).map_err(|error| Failure::Message(error.to_string()))?;
    for line in &policy.remarks {
        writeln!(out, "{line}")?;
    }
    let fault = |path: &Path, error| Failure::Message(format!("{}: {error}", path.shown()));
    for (path, text) in &policy.files {
        let path = options.output.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| fault(folder, error))?;
        }
        fs::write(&path, text).map_err(|error| fault(&path, error))?;
        writeln!(out, "{}", path.shown())?;
    }
    Ok(ExitCode::SUCCESS)
}

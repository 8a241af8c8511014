//! The options of `deburr pack policy`.

use clap::{ArgGroup, Args};
use std::path::PathBuf;

/// The options of `deburr pack policy`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("modules").required(true).multiple(true))]
#[command(override_usage = "deburr pack policy [OPTIONS] <--selinux …|--apparmor> -o <DIR> <DIST>")]
#[command(after_long_help = "Examples:
  deburr pack policy dist --apparmor -o policy
  deburr pack policy dist -o policy \\
      --selinux /etc/selinux/targeted/contexts/files/file_contexts
  deburr pack policy dist -o policy --selinux file_contexts \\
      --domain git_exec_t=user_git_t
  semodule -i policy/prog-levels.cil && restorecon -R /usr/lib/prog

Each launcher and variant gets what the policy gives the file in its place:
/usr/lib/prog/ID/x86-64-v3/bin/prog the label of /usr/bin/prog. The rules hold
for each ID and level, so an upgrade changes nothing.

  DIR/NAME.cil                                SELinux: labels, and what domains
                                              need to start variants
  DIR/apparmor.d/tunables/multiarch.d/NAME    AppArmor: aliases of paths
  DIR/apparmor.d/abstractions/NAME/PROGRAM    AppArmor: for the program's profile

The tree must be assembled with --prefix, because a program that is confined at
its start looks for variants only there.

Exit status: 0 written, 2 not.")]
pub(crate) struct Policy {
    /// What deburr pack assemble wrote
    #[arg(value_name = "DIST")]
    pub(crate) folder: PathBuf,
    /// The folder that the files go to
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Write an SELinux module, by the policy's file contexts
    #[arg(long, value_name = "FILE_CONTEXTS", group = "modules")]
    pub(crate) selinux: Option<PathBuf>,
    /// Domain that starts programs of a type [default: X_t for X_exec_t]
    #[arg(long = "domain", value_name = "TYPE=DOMAIN", requires = "selinux", value_parser = domain)]
    pub(crate) domains: Vec<(String, String)>,
    /// Write files of AppArmor
    #[arg(long, group = "modules")]
    pub(crate) apparmor: bool,
    /// Name of the module and the files [default: PROG-levels]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: Option<String>,
}

fn domain(text: &str) -> Result<(String, String), &'static str> {
    let is_type =
        |name: &str| !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    match text.split_once('=').filter(|(kind, domain)| is_type(kind) && is_type(domain)) {
        Some((kind, domain)) => Ok((kind.to_owned(), domain.to_owned())),
        None => Err("expected two types, such as git_exec_t=user_git_t"),
    }
}

fn name(text: &str) -> Result<String, &'static str> {
    let is_word = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
    let is_name =
        text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic()) && text.bytes().all(is_word);
    if is_name {
        Ok(text.to_owned())
    } else {
        Err("expected a letter, and then letters, digits, '-', '_' and '.'")
    }
}

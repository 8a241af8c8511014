//! `deburr completions` and `deburr man`: what a shell and man(1) want to know, from the command line's own
//! definition.

use crate::args::Arguments;
use crate::cmd::failure::Failure;
use clap::{Command, CommandFactory};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

/// Prints a completion script.
pub(super) fn completions(shell: clap_complete::Shell, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    // `generate` panics when its writer fails; memory does not.
    let mut script = Vec::new();
    let mut command = Arguments::command();
    clap_complete::generate(shell, &mut command, "deburr", &mut script);
    if shell == clap_complete::Shell::Bash {
        script = with_lists(&String::from_utf8_lossy(&script), &command).into_bytes();
    }
    out.write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// A script for bash that completes what follows the last comma, for the options that take lists: `--select llsc-loop,`.
fn with_lists(script: &str, command: &Command) -> String {
    let verbs = command.get_subcommands().flat_map(|verb| verb.get_subcommands().chain([verb]));
    let lists = verbs.flat_map(Command::get_arguments).filter(|arg| arg.get_value_delimiter() == Some(','));
    let options: BTreeSet<String> = lists.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
    let options = options.into_iter().collect::<Vec<_>>().join("|");
    let wrapper = BASH_LISTS.replace("OPTIONS", &options);
    match script.rsplit_once("\nif [[ \"${BASH_VERSINFO[0]}\"") {
        Some((before, registers)) => {
            let registers = registers.replace("complete -F _deburr ", "complete -F _deburr_lists ");
            format!("{before}{wrapper}\nif [[ \"${{BASH_VERSINFO[0]}}\"{registers}")
        }
        None => script.to_owned(),
    }
}

/// The generated function completes the last name of a list, and the names before it are put back.
const BASH_LISTS: &str = r#"
_deburr_lists() {
    local before=""
    case "$3" in
        OPTIONS)
            [[ "$2" != *,* ]] || before="${2%,*},"
            ;;
    esac
    _deburr "$1" "${2#"$before"}" "$3"
    COMPREPLY=("${COMPREPLY[@]/#/$before}")
}
"#;

/// Prints deburr(1), the verbs and their options included.
pub(super) fn man(out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let mut command = Arguments::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(out)?;
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let name = format!("deburr {}", verb.get_name());
        let page = clap_mangen::Man::new(verb.clone());
        let mut text = Vec::new();
        page.render_description_section(&mut text)?;
        page.render_synopsis_section(&mut text)?;
        page.render_options_section(&mut text)?;
        page.render_extra_section(&mut text)?;
        writeln!(out, ".SH \"{}\"", name.to_uppercase())?;
        // The sections of a verb become subsections of the one page.
        out.write_all(String::from_utf8_lossy(&text).replace(".SH ", ".SS ").as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

//! `deburr completions` and `deburr man`: what a shell and man(1) want to know, from the command line's own
//! definition.

use crate::args::Arguments;
use crate::cmd::failure::Failure;
use clap::CommandFactory;
use std::io::Write;
use std::process::ExitCode;

/// Prints a completion script.
pub(super) fn completions(shell: clap_complete::Shell, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    // `generate` panics when its writer fails; memory does not.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "deburr", &mut script);
    out.write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

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

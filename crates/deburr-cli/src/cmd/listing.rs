//! `deburr cpu`, `deburr rules` and `deburr explain`: what deburr knows, without any file.

use super::Failure;
use crate::args::Format;
use crate::machine::{ARCHES, nearest, unknown};
use crate::render::style::Palette;
use deburr_core::rule::RULES;
use deburr_cpu::levels;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

/// Prints the names that `--target` and `--baseline` accept.
pub(super) fn cpu(format: Format, color: bool, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let names = |arch| levels(arch).iter().map(|level| level.name).collect::<Vec<_>>();
    match format {
        Format::Json => {
            let levels: serde_json::Map<_, _> =
                ARCHES.iter().map(|&arch| (arch.name().to_owned(), json!(names(arch)))).collect();
            writeln!(out, "{:#}", json!({ "levels": levels }))?;
        }
        Format::Text => {
            let palette = Palette::new(color);
            writeln!(out, "Names that --target and --baseline accept:")?;
            for arch in ARCHES {
                writeln!(out, "  {} {}", palette.bold(arch.name()), names(arch).join(" "))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the rules.
pub(super) fn rules(format: Format, color: bool, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let palette = Palette::new(color);
    let width = RULES.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    match format {
        Format::Json => {
            let list: Vec<_> =
                RULES.iter().map(|rule| json!({"id": rule.id, "summary": rule.summary})).collect();
            writeln!(out, "{:#}", json!({ "rules": list }))?;
        }
        Format::Text => {
            for rule in RULES {
                writeln!(out, "{}  {}", palette.bold(&format!("{:width$}", rule.id)), rule.summary)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a rule's page.
pub(super) fn explain(id: &str, color: bool, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let Some(rule) = RULES.iter().find(|rule| rule.id == id) else {
        let nearest = nearest(id, RULES.iter().map(|rule| rule.id));
        return Err(Failure::Message(unknown("rule", id, nearest, "`deburr rules` lists them")));
    };
    let palette = Palette::new(color);
    let mut in_code = false;
    for line in rule.page.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
            if color {
                continue;
            }
        }
        match line.trim_start_matches('#') {
            heading if color && !in_code && heading.len() < line.len() => {
                writeln!(out, "{}", palette.bold(heading.trim_start()))?;
            }
            _ if in_code => writeln!(out, "{}", palette.dim(line))?,
            _ => writeln!(out, "{line}")?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

//! `deburr cpu`, `deburr rules`, `deburr explain` and `deburr schema`: what deburr knows, without any file.
//!
//! In: the tables of `deburr-cpu` and of the rules, and the host. Out: lists for a terminal, JSON, or a
//! rule's page.

use crate::args::Writer;
use crate::args::format::Format;
use crate::cmd::failure::Failure;
use crate::cmd::terminal::width_of_terminal;
use crate::names::{ARCHES, nearest, unknown};
use crate::render::check::json::schema_of_version_1;
use crate::render::style::Palette;
use deburr_core::rule::RULES;
use deburr_cpu::{Arch, CpuKind, Feature, FeatureSet, Host, cpu_names, cpus, level_names};
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;

/// Columns of a list where the output is no terminal.
const WIDTH: usize = 100;

/// Prints what this machine offers, and the names that `--target` and `--baseline` accept.
pub(super) fn cpu(format: Format, color: bool, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let host = deburr_cpu::host();
    match format {
        Format::Json => {
            let list = |set: FeatureSet| set.iter().map(Feature::name).collect::<Vec<_>>();
            let host = match &host {
                Ok(host) => json!({
                    "name": host.name,
                    "brand": host.brand,
                    "arch": host.arch.name(),
                    "level": host.level.name,
                    "beyond": list(host.beyond()),
                    "features": list(host.features),
                    "disabled": list(host.disabled),
                }),
                Err(_) => serde_json::Value::Null,
            };
            let names = |arch| {
                let levels: Vec<_> = level_names(arch).collect();
                let aliases: serde_json::Map<_, _> = cpus(arch)
                    .flat_map(|cpu| cpu.aliases.iter().map(|alias| ((*alias).to_owned(), cpu.name.into())))
                    .collect();
                json!({"levels": levels, "cpus": cpu_names(arch), "aliases": aliases, "rows": rows(arch)})
            };
            let names: serde_json::Map<_, _> =
                ARCHES.iter().map(|&arch| (arch.name().to_owned(), names(arch))).collect();
            writeln!(out, "{:#}", json!({"host": host, "names": names}))?;
        }
        Format::Text => {
            let palette = Palette::new(color);
            match &host {
                Ok(host) => describe_host(out, host, palette)?,
                Err(error) => writeln!(out, "This machine: {error}")?,
            }
            writeln!(out, "\n{}", palette.bold("Names that --target and --baseline accept"))?;
            for arch in ARCHES {
                list(out, &format!("  {} levels", arch.name()), level_names(arch))?;
                let names = |wanted: fn(CpuKind) -> bool| {
                    let named = cpus(arch).filter(move |cpu| wanted(cpu.kind));
                    let mut names: Vec<_> =
                        named.flat_map(|cpu| cpu.aliases.iter().copied().chain([cpu.name])).collect();
                    names.sort_unstable();
                    names.into_iter()
                };
                let cores = names(|kind| kind != CpuKind::Machine);
                list(out, &format!("  {} CPUs", arch.name()), cores)?;
                let machines = names(|kind| kind == CpuKind::Machine);
                list(out, &format!("  {} boards", arch.name()), machines)?;
            }
            list(out, "  in short", ["v1 v2 v3 v4", "(x86-64-v1 to x86-64-v4)"].into_iter())?;
            list(out, "  this machine", ["native"].into_iter())?;
            list(out, "  with features", ["armv8.0-a+lse,", "zen4+noavx512f"].into_iter())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the JSON Schema of what a verb writes.
pub(super) fn schema(of: Writer, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let schema = match of {
        Writer::CheckFirst => {
            let schema = schema_of_version_1().map_err(io::Error::from)?;
            serde_json::to_writer_pretty(&mut *out, &schema).map_err(io::Error::from)?;
            b"\n".as_slice()
        }
        Writer::Check => include_bytes!("../schema.json"),
        Writer::Show => include_bytes!("../schema-show.json"),
        Writer::Diff => include_bytes!("../schema-diff.json"),
        Writer::Fix => include_bytes!("../schema-fix.json"),
        Writer::Compare => include_bytes!("../schema-compare.json"),
        Writer::CompareLog => include_bytes!("../schema-compare-log.json"),
        Writer::Bench => include_bytes!("../schema-bench.json"),
        Writer::PackMeasure => include_bytes!("../schema-pack-measure.json"),
        Writer::PackWheel => include_bytes!("../schema-pack-wheel.json"),
        Writer::Try => include_bytes!("../schema-try.json"),
        Writer::Scan => include_bytes!("../schema-scan.json"),
    };
    out.write_all(schema)?;
    Ok(ExitCode::SUCCESS)
}

/// The rows of the table of CPUs.
fn rows(arch: Arch) -> Vec<serde_json::Value> {
    let row = |cpu: &deburr_cpu::Cpu| {
        let kind = match cpu.kind {
            CpuKind::Core => "core",
            CpuKind::Compiler => "compiler",
            CpuKind::Machine => "machine",
        };
        json!({
            "name": cpu.name,
            "kind": kind,
            "core": cpu.core,
            "features": cpu.features.iter().map(Feature::name).collect::<Vec<_>>(),
            "source": cpu.source,
        })
    };
    cpus(arch).map(row).collect()
}

fn describe_host(out: &mut dyn Write, host: &Host, palette: Palette) -> std::io::Result<()> {
    let brand = if host.brand.is_empty() { String::new() } else { format!(" ({})", host.brand) };
    writeln!(out, "{}{brand}", palette.bold(&host.name))?;
    list(out, "  architecture", [host.arch.name()].into_iter())?;
    list(out, "  level", [host.level.name].into_iter())?;
    list(out, "  beyond it", host.beyond().iter().map(Feature::name))?;
    list(out, "  all features", host.features.iter().map(Feature::name))?;
    list(out, "  disabled by OS", host.disabled.iter().map(Feature::name))
}

/// Prints names after a label, in as many lines as they need; an empty list leaves no line.
fn list<'a>(out: &mut dyn Write, label: &str, words: impl Iterator<Item = &'a str>) -> std::io::Result<()> {
    const INDENT: usize = 18;
    let width = width_of_terminal().unwrap_or(WIDTH).max(INDENT * 2);
    let mut line = String::new();
    let mut label = label;
    for word in words {
        if !line.is_empty() && INDENT + line.len() + 1 + word.len() > width {
            writeln!(out, "{label:INDENT$}{line}")?;
            label = "";
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.is_empty() { Ok(()) } else { writeln!(out, "{label:INDENT$}{line}") }
}

/// Lists the rules.
pub(crate) fn rules(format: Format, color: bool, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let palette = Palette::new(color);
    let width = RULES.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    match format {
        Format::Json => {
            let list = RULES
                .iter()
                .map(|rule| json!({"id": rule.id, "severity": rule.severity, "summary": rule.summary, "preview": rule.preview}));
            writeln!(out, "{:#}", json!({ "rules": list.collect::<Vec<_>>() }))?;
        }
        Format::Text => {
            for rule in RULES {
                writeln!(out, "{}  {}", palette.bold(&format!("{:width$}", rule.id)), rule.summary)?;
                let preview = if rule.preview { "; in preview: runs with --preview or --select" } else { "" };
                let severity = format!("{}{preview}", rule.severity);
                writeln!(out, "{:width$}  {}", "", palette.dim(&severity))?;
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
    if rule.benchmark.is_some() {
        writeln!(out, "\n{}\n\n    deburr bench {}", palette.bold("What it costs on this CPU:"), rule.id)?;
    }
    Ok(ExitCode::SUCCESS)
}

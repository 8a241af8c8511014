//! The JSON document of `deburr fix`, written file by file.
//!
//! In: each file as it is done, and the sums of the run. Out: the document that `schema-fix.json` describes.

use super::insns::insns;
use super::manifest::TOOL_VERSION;
use super::outcome::{Break, Fixed, Packed, Reverted, Verdict, Written};
use super::renderer::FixRenderer;
use super::summary::FixSummary;
use crate::render::json::write_value;
use deburr_core::Svma;
use deburr_core::report::{Hex, SCHEMA_VERSION};
use deburr_cpu::Feature;
use deburr_patch::{Refused, Site};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::json;
use std::io::{self, Write};

/// Writes one document.
pub(crate) struct FixJson {
    action: &'static str,
    is_pretty: bool,
    files: u64,
}

impl FixJson {
    pub(crate) const fn new(action: &'static str, is_pretty: bool) -> FixJson {
        FixJson { action, is_pretty, files: 0 }
    }

    fn file(&mut self, out: &mut dyn Write, file: &impl Serialize) -> io::Result<()> {
        out.write_all(if self.files > 0 { b"," } else { b"" })?;
        out.write_all(if self.is_pretty { b"\n    " } else { b"" })?;
        self.files += 1;
        write_value(out, self.is_pretty, file, "\n    ")
    }

    const fn space(&self) -> (&'static str, &'static str) {
        if self.is_pretty { ("\n  ", " ") } else { ("", "") }
    }
}

impl FixRenderer for FixJson {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let (line, colon) = self.space();
        write!(out, "{{{line}\"schema_version\":{colon}{SCHEMA_VERSION},{line}")?;
        write!(out, "\"tool_version\":{colon}\"{TOOL_VERSION}\",{line}")?;
        write!(out, "\"action\":{colon}\"{}\",{line}\"files\":{colon}[", self.action)
    }

    fn fixed(&mut self, out: &mut dyn Write, fixed: &Fixed, _is_named: bool) -> io::Result<()> {
        self.file(
            out,
            &FixedFile {
                path: &fixed.path,
                sites: Sites(&fixed.plan.sites),
                refused: Places(&fixed.plan.refused),
                needs: fixed.needs.iter().map(Feature::name).collect(),
                breaks: &fixed.breaks,
                obstacle: fixed.obstacle.as_deref(),
                written: fixed.written.as_ref(),
            },
        )
    }

    fn packed(&mut self, out: &mut dyn Write, packed: &Packed) -> io::Result<()> {
        self.file(out, packed)
    }

    fn reverted(&mut self, out: &mut dyn Write, reverted: &Reverted) -> io::Result<()> {
        self.file(out, reverted)
    }

    fn verdict(&mut self, out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
        let Verdict { path, original, verified, assumptions } = verdict;
        let (by_rule, reason) = (verified.as_ref().ok(), verified.as_ref().err());
        let mut verdict = json!({
            "path": path,
            "original": original,
            "verified": verified.is_ok(),
            "changes": by_rule,
            "reason": reason,
        });
        if let Some(members) = verdict.as_object_mut().filter(|_| !assumptions.is_empty()) {
            members.insert("assumptions".to_owned(), json!(assumptions));
        }
        self.file(out, &verdict)
    }

    fn end(&mut self, out: &mut dyn Write, summary: &FixSummary) -> io::Result<()> {
        let (line, colon) = self.space();
        let before_end = if self.files > 0 { line } else { "" };
        write!(out, "{before_end}],{line}\"left\":{colon}")?;
        write_value(out, self.is_pretty, &summary.left, "\n  ")?;
        if let Some(manifest) = &summary.manifest {
            write!(out, ",{line}\"manifest\":{colon}")?;
            write_value(out, self.is_pretty, manifest, "\n  ")?;
        }
        write!(out, ",{line}\"statistics\":{colon}")?;
        let statistics = json!({
            "files": summary.files,
            "files_with_sites": summary.files_with_sites,
            "files_rewritten": summary.files_rewritten,
            "sites": summary.sites,
            "spinning": summary.spinning,
            "refused": summary.refused,
            "barriers_kept": summary.barriers,
            "other_files": summary.other_files,
        });
        write_value(out, self.is_pretty, &statistics, "\n  ")?;
        writeln!(out, "{}}}", if self.is_pretty { "\n" } else { "" })
    }
}

#[derive(Serialize)]
struct FixedFile<'a> {
    path: &'a str,
    sites: Sites<'a>,
    refused: Places<'a>,
    needs: Vec<&'static str>,
    breaks: &'a [Break],
    obstacle: Option<&'a str>,
    written: Option<&'a Written>,
}

/// Made one after another: a large library has very many.
struct Sites<'a>(&'a [Site]);

impl Serialize for Sites<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sites = serializer.serialize_seq(Some(self.0.len()))?;
        for site in self.0 {
            sites.serialize_element(&json!({
                "rule": site.rule,
                "function": site.function,
                "svma": Hex(site.at.0),
                "file_offset": Hex(site.file_offset),
                "old": words(&site.old, site.at),
                "new": words(&site.new, site.at),
                "trampoline": site.trampoline.as_ref().map(|trampoline| words(&trampoline.words, trampoline.at)),
                "spins": site.spins,
                "needs_lse": site.needs().contains(Feature::FEAT_LSE),
            }))?;
        }
        sites.end()
    }
}

struct Places<'a>(&'a [Refused]);

impl Serialize for Places<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = |refused: &Refused| {
            json!({
                "rule": refused.rule,
                "function": refused.function,
                "svma": Hex(refused.at.0),
                "reason": refused.reason.to_string(),
                "detail": refused.detail.map(|detail| detail.to_string()),
            })
        };
        serializer.collect_seq(self.0.iter().map(place))
    }
}

fn words(words: &[u32], at: Svma) -> Vec<serde_json::Value> {
    let insns = insns(words, at);
    let pairs = words.iter().zip(insns);
    pairs.map(|(word, text)| json!({"word": format!("{word:08x}"), "text": text})).collect()
}

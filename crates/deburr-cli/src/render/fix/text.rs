//! Text for people: sites by rule, old instructions next to new ones; refusals by reason; and what to know of
//! the new file.
//!
//! In: each file as it is done, and the sums of the run. Out: lines for a terminal. A plan shows the
//! instructions; what was written is one line for each rule.

use super::insns::{addresses, insns};
use super::outcome::{Fixed, Packed, Reverted, Verdict, Written};
use super::renderer::FixRenderer;
use super::summary::{FixSummary, is_barrier};
use crate::config::allow::NO_NAME;
use crate::render::style::Palette;
use crate::text::line::fit;
use crate::text::number::counted;
use deburr_cpu::Feature;
use deburr_patch::{Refused, Site};
use deburr_text::one_line;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// How to lay it out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FixLayout {
    pub(crate) palette: Palette,
    /// Columns that a line may take; `None`: as many as it needs.
    pub(crate) width: Option<usize>,
    /// Sites of a rule and addresses of a reason; 0 is all.
    pub(crate) limit: usize,
    /// Whether nothing is written: then the instructions are shown.
    pub(crate) is_plan: bool,
}

/// Renders for people.
pub(crate) struct FixText {
    layout: FixLayout,
    files: u64,
}

/// What a rule's page speaks of, in one file.
#[derive(Default)]
struct OfRule<'a> {
    sites: Vec<&'a Site>,
    refused: Vec<&'a Refused>,
}

impl FixText {
    pub(crate) const fn new(layout: FixLayout) -> FixText {
        FixText { layout, files: 0 }
    }

    fn shown(&self, count: usize) -> usize {
        if self.layout.limit == 0 { count } else { count.min(self.layout.limit) }
    }

    fn rule(&self, out: &mut dyn Write, rule: &str, of_rule: &OfRule<'_>) -> io::Result<()> {
        let palette = self.layout.palette;
        let OfRule { sites, refused } = of_rule;
        let barriers = refused.iter().filter(|refused| is_barrier(refused)).count() as u64;
        let all = (sites.len() + refused.len()) as u64 - barriers;
        let counts = with_barriers(sites.len() as u64, all, "", barriers);
        writeln!(out, "  {}: {counts}", palette.bold(rule))?;
        if self.layout.is_plan {
            let shown = self.shown(sites.len());
            for site in sites.iter().take(shown) {
                self.site(out, site)?;
            }
            if sites.len() > shown {
                let more = format!("    … and {} more (--limit 0 shows all)", sites.len() - shown);
                writeln!(out, "{}", palette.dim(&more))?;
            }
        }
        if refused.is_empty() {
            return Ok(());
        }
        let mut by_reason: BTreeMap<String, Vec<&Refused>> = BTreeMap::new();
        for refused in refused {
            by_reason.entry(refused.reason.to_string()).or_default().push(refused);
        }
        let mut commonest_first: Vec<_> = by_reason.into_iter().collect();
        commonest_first.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
        writeln!(out, "    {}", palette.dim(if barriers > 0 { "kept" } else { "refused" }))?;
        for (reason, places) in commonest_first {
            writeln!(out, "    {:>6}  {reason}", places.len())?;
            writeln!(out, "            {}", palette.dim(&self.places(&places)))?;
        }
        Ok(())
    }

    /// Addresses, with the function where there is one place only.
    fn places(&self, places: &[&Refused]) -> String {
        let room = self.layout.width.map(|width| width.saturating_sub(12));
        if let [place] = places {
            let name = place.function.as_deref().map(|name| format!(" in {}", one_line(name)));
            let detail = place.detail.map(|detail| format!(": {detail}")).unwrap_or_default();
            return fit(&format!("at {}{}{detail}", place.at, name.unwrap_or_default()), room);
        }
        let shown = self.shown(places.len()).min(if self.layout.limit == 0 { usize::MAX } else { 5 });
        let addresses: Vec<String> = places.iter().take(shown).map(|place| place.at.to_string()).collect();
        let more = if places.len() > shown { ", …" } else { "" };
        format!("at {}{more}", addresses.join(", "))
    }

    fn site(&self, out: &mut dyn Write, site: &Site) -> io::Result<()> {
        let palette = self.layout.palette;
        let name = one_line(site.function.as_deref().unwrap_or(NO_NAME));
        let room = self.layout.width.map(|width| width.saturating_sub(4));
        let spins = if site.spins { ", spins where it fails" } else { "" };
        writeln!(out, "    {}", fit(&format!("{name}{spins}"), room))?;
        let (old, new) = (insns(&site.old, site.at), insns(&site.new, site.at));
        let width = old.iter().map(|text| aligned(text).chars().count()).max().unwrap_or(0);
        for ((old, new), at) in old.iter().zip(&new).zip(addresses(site.at)) {
            let (old_text, new_text) = (aligned(old), aligned(new));
            let line = if old == new {
                format!("      {at}  {old_text}")
            } else {
                format!("      {at}  {old_text:width$}  → {}", palette.bold(&new_text))
            };
            writeln!(out, "{}", line.trim_end())?;
        }
        if let Some(trampoline) = &site.trampoline {
            writeln!(out, "      in added space")?;
            for (text, at) in insns(&trampoline.words, trampoline.at).iter().zip(addresses(trampoline.at)) {
                writeln!(out, "      {at}  {}", palette.bold(&aligned(text)))?;
            }
        }
        Ok(())
    }

    fn closing(&self, out: &mut dyn Write, summary: &FixSummary) -> io::Result<()> {
        let palette = self.layout.palette;
        if summary.is_several {
            let all = summary.sites + summary.refused - summary.barriers;
            let verb = if self.layout.is_plan { " can be rewritten" } else { " rewritten" };
            let done = format!("{verb}, in {}", counted(summary.files_with_sites, "file"));
            let sites = with_barriers(summary.sites, all, &done, summary.barriers);
            writeln!(out, "\n{}: {sites}", counted(summary.files, "AArch64 file"))?;
            self.left(out, summary)?;
        } else if self.layout.is_plan && summary.sites > 0 {
            writeln!(out)?;
        }
        let is_written = summary.files_rewritten > 0;
        let needing = summary.files_needing.iter().filter(|_| is_written || self.layout.is_plan);
        for (&feature, &needing) in needing {
            let (what, verb) = match (summary.is_several, needing) {
                (false, _) => ("The rewritten file".to_owned(), "needs"),
                (true, 1) => ("One rewritten file".to_owned(), "needs"),
                (true, many) => (format!("{many} rewritten files"), "need"),
            };
            let dies = if verb == "need" { "they die" } else { "it dies" };
            let where_not = match feature {
                Feature::FEAT_LSE => "before Armv8.1",
                _ => "without it",
            };
            let line = format!("{what} {verb} {feature}: on CPUs {where_not} {dies} of SIGILL.");
            writeln!(out, "{}", palette.bold(&line))?;
        }
        if summary.spinning > 0 && self.layout.is_plan {
            let sites = counted(summary.spinning, "site");
            let spin = if summary.spinning == 1 { "spins" } else { "spin" };
            writeln!(
                out,
                "{sites} {spin} where the compare fails, which LSE may make slower: --skip-spin-cas leaves such."
            )?;
        }
        if self.layout.is_plan && summary.sites > 0 {
            let options = match summary.is_several {
                false => "-o OUT writes a new file, --in-place changes this one",
                true if summary.is_package => "-o OUT writes a new package, --in-place changes this one",
                true => "-o DIR writes a new tree, --in-place changes these files",
            };
            writeln!(out, "Nothing was written: {options}.")?;
        }
        Ok(())
    }

    /// What stays as it is, by reason.
    fn left(&self, out: &mut dyn Write, summary: &FixSummary) -> io::Result<()> {
        let mut by_reason: BTreeMap<&str, u64> = BTreeMap::new();
        for left in summary.left.iter().filter(|left| !left.is_fault) {
            *by_reason.entry(&left.reason).or_default() += 1;
        }
        for (reason, count) in by_reason {
            writeln!(
                out,
                "  {} left as {}: {reason}",
                counted(count, "file"),
                if count == 1 { "it is" } else { "they are" }
            )?;
        }
        match summary.other_files {
            0 => Ok(()),
            count => writeln!(out, "  {} of other kinds", counted(count, "file")),
        }
    }
}

impl FixRenderer for FixText {
    fn fixed(&mut self, out: &mut dyn Write, fixed: &Fixed, is_named: bool) -> io::Result<()> {
        let (sites, refused) = (&fixed.plan.sites, &fixed.plan.refused);
        if !is_named && sites.is_empty() && refused.is_empty() {
            return Ok(());
        }
        if self.files > 0 {
            writeln!(out)?;
        }
        self.files += 1;
        let barriers = refused.iter().filter(|refused| is_barrier(refused)).count() as u64;
        let (some, all) = (sites.len() as u64, (sites.len() + refused.len()) as u64 - barriers);
        let path = self.layout.palette.bold(&one_line(&fixed.path));
        let verdict = match (&fixed.written, some) {
            (_, 0) if all == 0 && barriers == 0 => "nothing to rewrite".to_owned(),
            (Some(_), 0) => with_barriers(0, all, " rewritten", barriers),
            (None, some) => with_barriers(some, all, " can be rewritten", barriers),
            (Some(_), some) => with_barriers(some, all, " rewritten and verified", barriers),
        };
        writeln!(out, "{path}: {verdict}")?;
        let mut by_rule: BTreeMap<&str, OfRule<'_>> = BTreeMap::new();
        for site in sites {
            by_rule.entry(site.rule).or_default().sites.push(site);
        }
        for refused in refused {
            by_rule.entry(refused.rule).or_default().refused.push(refused);
        }
        for (rule, of_rule) in &by_rule {
            self.rule(out, rule, of_rule)?;
        }
        if let Some(written) = &fixed.written {
            writeln!(out, "  {}", place(written, &fixed.path))?;
        }
        if let Some(obstacle) = &fixed.obstacle {
            writeln!(out, "  cannot be written: {obstacle}")?;
        }
        for it in &fixed.breaks {
            writeln!(out, "  note: {}", it.text)?;
        }
        Ok(())
    }

    fn packed(&mut self, out: &mut dyn Write, packed: &Packed) -> io::Result<()> {
        let Packed { path, changed, breaks, written, is_reverted } = packed;
        if written.is_none() && breaks.is_empty() {
            return Ok(());
        }
        if self.files > 0 {
            writeln!(out)?;
        }
        self.files += 1;
        let files = counted(changed.len() as u64, "file");
        let verdict = match (written, changed.is_empty()) {
            (None, _) => "a package".to_owned(),
            (Some(_), true) if *is_reverted => {
                "deburr rewrote no file in it, nothing to give back".to_owned()
            }
            (Some(_), true) => "no file in it rewritten".to_owned(),
            (Some(_), false) if *is_reverted => format!("{files} in it given back"),
            (Some(_), false) => format!("{files} in it rewritten and verified"),
        };
        writeln!(out, "{}: {verdict}", self.layout.palette.bold(&one_line(path)))?;
        if *is_reverted {
            for path in changed {
                writeln!(out, "  {}", one_line(path))?;
            }
        }
        if let Some(written) = written {
            writeln!(out, "  {}", place(written, path))?;
        }
        for it in breaks {
            writeln!(out, "  note: {}", it.text)?;
        }
        Ok(())
    }

    fn reverted(&mut self, out: &mut dyn Write, reverted: &Reverted) -> io::Result<()> {
        let Written { path, sha256, backup, .. } = &reverted.written;
        let backup = backup.as_ref().map(|backup| format!("; the rewritten file is {}", one_line(backup)));
        let (path, backup) = (self.layout.palette.bold(&one_line(path)), backup.unwrap_or_default());
        writeln!(out, "{path}: the original again, SHA-256 {sha256}{backup}")
    }

    fn verdict(&mut self, out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
        let (path, original) = (one_line(&verdict.path), one_line(&verdict.original));
        let path = self.layout.palette.bold(&path);
        match &verdict.verified {
            Ok(by_rule) if by_rule.is_empty() => {
                writeln!(out, "{path}: identical to {original}, nothing to prove")
            }
            Ok(by_rule) => {
                let changes = counted(by_rule.values().sum::<usize>() as u64, "change");
                writeln!(
                    out,
                    "{path}: verified: {changes} of {original}, each proven to do the same, and nothing else"
                )?;
                for (rule, count) in by_rule {
                    writeln!(out, "  {rule}: {count}")?;
                }
                Ok(())
            }
            Err(reason) => writeln!(out, "{path}: not verified against {original}: {reason}"),
        }?;
        if !verdict.assumptions.is_empty() {
            writeln!(out, "What the proofs assume:")?;
        }
        verdict.assumptions.iter().try_for_each(|assumption| writeln!(out, "- {assumption}"))
    }

    fn end(&mut self, out: &mut dyn Write, summary: &FixSummary) -> io::Result<()> {
        self.closing(out, summary)?;
        match summary.manifest {
            Some(_) => writeln!(out, "manifest.json tells what each form of a file needs."),
            None => Ok(()),
        }
    }
}

/// Where a file went.
fn place(written: &Written, source: &str) -> String {
    let path = one_line(&written.path);
    match (&written.backup, written.is_changed) {
        (Some(backup), _) => format!("the original is {} now", one_line(backup)),
        (None, false) if written.path == source => "left as it is".to_owned(),
        (None, false) => format!("copied as it is to {path}"),
        (None, true) => format!("written to {path}"),
    }
}

/// `3 of 4 sites rewritten`, `1 site rewritten, 2 barriers kept`: most barriers are needed, and none is a
/// missed atomic.
fn with_barriers(some: u64, all: u64, verb: &str, barriers: u64) -> String {
    let sites = match (some == all, counted(all, "site")) {
        _ if all == 0 && barriers > 0 => "no sites".to_owned(),
        (true, sites) => format!("{sites}{verb}"),
        (false, sites) => format!("{some} of {sites}{verb}"),
    };
    match barriers {
        0 => sites,
        barriers => format!("{sites}, {} kept", counted(barriers, "barrier")),
    }
}

/// Operands in a column of their own.
fn aligned(text: &str) -> String {
    match text.split_once(' ') {
        Some((mnemonic, operands)) => format!("{mnemonic:<7} {operands}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_core::Svma;
    use deburr_cpu::FeatureSet;
    use deburr_patch::{Plan, Reason};

    /// What is said of a plan that rewrites nothing, and at the end.
    fn shown(refused: &[(&'static str, Reason)]) -> String {
        let place = |(rule, reason): &(&'static str, Reason)| Refused {
            rule,
            function: None,
            at: Svma(0x400),
            reason: reason.clone(),
            detail: None,
        };
        let plan = Plan { refused: refused.iter().map(place).collect(), ..Plan::default() };
        let (path, needs, breaks) = ("x.so".to_owned(), FeatureSet::EMPTY, Vec::new());
        let fixed = Fixed { path, plan, needs, breaks, obstacle: None, written: None };
        let mut summary = FixSummary { is_several: true, ..FixSummary::default() };
        summary.add(&fixed);
        let palette = Palette::new(false);
        let mut text = FixText::new(FixLayout { palette, width: None, limit: 10, is_plan: true });
        let mut out = Vec::new();
        text.fixed(&mut out, &fixed, true).unwrap();
        text.end(&mut out, &summary).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn barriers_that_stay_are_counted_apart_from_sites() {
        let barrier = ("barrier-around-atomic", Reason::Barrier);
        let shown_of = shown(&[("llsc-loop", Reason::Overlaps), barrier.clone(), barrier.clone()]);
        for line in [
            "x.so: 0 of 1 site can be rewritten, 2 barriers kept\n",
            "  barrier-around-atomic: no sites, 2 barriers kept\n    kept\n",
            "  llsc-loop: 0 of 1 site\n    refused\n",
            "1 AArch64 file: 0 of 1 site can be rewritten, in 0 files, 2 barriers kept\n",
        ] {
            assert!(shown_of.contains(line), "{shown_of}");
        }
        assert!(shown(&[barrier]).starts_with("x.so: no sites, 1 barrier kept\n"));
        assert!(shown(&[]).starts_with("x.so: nothing to rewrite\n"));
    }
}

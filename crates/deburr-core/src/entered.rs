//! What a run showed of a file: which code was executed, and where it was refused → functions, with their verdicts.
//!
//! In: an ELF file, what is requested of a check, and a run's facts as values: the features of the CPU that it ran on, the blocks
//! that were executed and the places of SIGILL, by their offsets in the file. Out: [`Entered`]: the functions entered that need
//! more than that CPU has. It is the line of [`crate::check()`] with another end; a run is evidence, and changes no verdict.

use crate::Svma;
use crate::address::CodeOffset;
use crate::check::examine;
use crate::function::Program;
use crate::image::{Error, Image, demangle};
use crate::insn::{self, ClassSet, disassemble, text::Syntax};
use crate::report::{Answer, Hex, IsaFunction, Reach, Refusal, Report, Step, name_at, near, place_of};
use crate::request::Request;
use deburr_cpu::FeatureSet;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a run is known to have done with a file.
#[derive(Debug, Clone, Copy)]
pub struct RunFacts<'a> {
    /// What the CPU executes.
    pub executable: FeatureSet,
    /// Blocks of instructions that were executed: where each begins in the file, and its length in bytes.
    pub blocks: &'a BTreeMap<u64, u32>,
    /// Where in the file SIGILL came.
    pub traps: &'a [u64],
}

/// What a run showed of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entered {
    /// Build-id in lower-case hexadecimal digits.
    pub build_id: Option<String>,
    /// The level that the file needs, by the analysis.
    pub level: String,
    /// Whether the CPU runs it, by the analysis; `None` without a baseline.
    pub answer: Option<Answer>,
    /// Functions that need more than the CPU has, entered or not.
    pub above: u64,
    /// Those that were entered, by address.
    pub functions: Vec<EnteredFunction>,
    /// The places of SIGILL, in the order in which they were given.
    pub traps: Vec<TrapPlace>,
    /// What it refuses to start without and the CPU does not have.
    pub refuses: Option<Refusal>,
    /// Whether the run took a path that ends the program for that reason.
    pub refused: bool,
}

/// A function that was entered, and needs more than the CPU has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct EnteredFunction {
    /// Its name, demangled; `None` where the file has none for it.
    pub function: Option<String>,
    /// Where it is, if it has no name: after the nearest one that has (`foo+0x40`), which it need not belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
    /// Its address.
    pub svma: Hex,
    /// What it needs that the CPU does not have.
    pub features: Vec<String>,
    /// The verdict of the analysis; `None` where it has none.
    pub reach: Option<Reach>,
    /// The path that the analysis knows, without a sufficient check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Step>,
    /// How many of its instructions need that.
    pub instructions: u64,
    /// How many of those were executed although the CPU does not have it.
    pub executed: u64,
    /// How many of those were refused, with SIGILL.
    pub refused: u64,
}

/// A place of SIGILL.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct TrapPlace {
    /// Its address.
    pub svma: Hex,
    /// The function's name, demangled; `None` where the file has none for it.
    pub function: Option<String>,
    /// The function's address, if there is one.
    pub start: Option<Hex>,
    /// The instruction, in AT&T's syntax; `None` where the bytes are none.
    pub instruction: Option<String>,
    /// What it needs that the CPU does not have: nothing, where it is there in order to trap.
    pub features: Vec<String>,
    /// The verdict on the function; `None` where there is none.
    pub reach: Option<Reach>,
    /// The path that the analysis knows, without a sufficient check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Step>,
}

/// Says what a run showed of a file.
///
/// # Errors
/// [`Error`], as of [`crate::check()`].
pub fn entered(bytes: &[u8], request: &Request<'_>, run: RunFacts<'_>) -> Result<Entered, Error> {
    examine(bytes, request, ClassSet::EMPTY, |image, program, report, _| {
        let view = View { image, program, report: &report, run };
        let functions = view.functions();
        Entered {
            above: functions.len() as u64,
            functions: functions.into_iter().flatten().collect(),
            traps: run.traps.iter().map(|&offset| view.trap(offset)).collect(),
            build_id: report.build_id.clone(),
            level: report.level.clone(),
            answer: report.answer,
            refused: view.has_refused(),
            refuses: view.refusal().cloned(),
        }
    })
}

/// The file and the run.
struct View<'a> {
    image: &'a Image<'a>,
    program: &'a Program,
    report: &'a Report,
    run: RunFacts<'a>,
}

/// Instructions of a function that need more than the CPU has.
#[derive(Default)]
struct Above {
    features: FeatureSet,
    instructions: u64,
    executed: u64,
    refused: u64,
}

impl View<'_> {
    /// What it refuses to start without and the CPU does not have.
    fn refusal(&self) -> Option<&Refusal> {
        self.report.refuses.as_ref().filter(|refusal| refusal.applies_to(self.run.executable))
    }

    /// Whether the run took a path that ends the program for that reason.
    fn has_refused(&self) -> bool {
        let ran = merged(self.run.blocks);
        let paths = self.refusal().map(|refusal| refusal.paths.as_slice()).unwrap_or_default();
        let offsets = paths.iter().filter_map(|&Hex(svma)| self.file_offset(Svma(svma)));
        offsets.into_iter().any(|offset| is_in(&ran, offset..offset + 1))
    }

    /// The functions that need more than the CPU has, by address: `None` for those that were not entered.
    fn functions(&self) -> Vec<Option<EnteredFunction>> {
        let ran = merged(self.run.blocks);
        let traps: BTreeSet<u64> = self.run.traps.iter().copied().collect();
        let mut all: BTreeMap<CodeOffset, Above> = BTreeMap::new();
        for (function, hits) in self.program.hits_by_function() {
            let Some(first) = hits.first() else { continue };
            let start = function.map_or(first.at, |function| self.program.whole(function).start);
            for hit in hits {
                let needed = insn::features_of(self.image.arch, hit.group).minus(self.run.executable);
                if needed.is_empty() {
                    continue;
                }
                let above = all.entry(start).or_default();
                above.features = above.features.union(needed);
                above.instructions += 1;
                let Some(offset) = self.file_offset(self.image.svma(hit.at)) else { continue };
                if traps.contains(&offset) {
                    above.refused += 1;
                } else if is_in(&ran, offset..offset + 1) {
                    above.executed += 1;
                }
            }
        }
        // Of all parts, because a part may be entered by a jump.
        let mut entered: BTreeSet<CodeOffset> = BTreeSet::new();
        for function in self.program.functions() {
            let extent = function.extent(self.image);
            let Some(offset) = self.file_offset(extent.start) else { continue };
            if is_in(&ran, offset..offset.saturating_add(extent.len())) {
                entered.insert(self.program.whole(function).start);
            }
        }
        // What looks like an instruction amid data has no verdict, and counts where it ran.
        let judged = all.into_iter().filter_map(|(start, above)| {
            let known = self.known(self.image.svma(start));
            let is_entered = entered.contains(&start) || above.executed + above.refused > 0;
            (known.is_some() || is_entered).then_some((start, above, known, is_entered))
        });
        judged
            .map(|(start, above, known, is_entered)| {
                is_entered.then(|| self.function(self.image.svma(start), &above, known))
            })
            .collect()
    }

    fn function(&self, svma: Svma, above: &Above, known: Option<&IsaFunction>) -> EnteredFunction {
        let function = name_at(self.image, self.program, svma);
        EnteredFunction {
            near: if function.is_some() { None } else { near(self.image, svma) },
            function,
            svma: place_of(self.image, svma).1,
            features: named(above.features),
            reach: known.map(|known| known.reach),
            path: known.map(|known| known.path.clone()).unwrap_or_default(),
            instructions: above.instructions,
            executed: above.executed,
            refused: above.refused,
        }
    }

    fn trap(&self, offset: u64) -> TrapPlace {
        let svma = self.svma(offset);
        let code = svma.and_then(|svma| self.image.bytes_at(svma));
        let arch = self.image.arch;
        let decoded = svma.zip(code).and_then(|(svma, code)| insn::decode(arch, code, svma));
        let needed = decoded.map(|insn| insn::features_of(arch, insn.features).minus(self.run.executable));
        let text = svma.zip(code).and_then(|(svma, code)| disassemble(arch, code, svma, Syntax::Att));
        let function =
            svma.and_then(|svma| self.image.code_offset(svma)).and_then(|at| self.program.function_at(at));
        let whole = function.map(|function| self.program.whole(function));
        let start = whole.map(|whole| self.image.svma(whole.start));
        let known = start.and_then(|start| self.known(start));
        TrapPlace {
            svma: Hex(svma.map_or(offset, |svma| svma.0)),
            function: whole.and_then(|whole| self.program.name(whole, self.image)).map(demangle),
            start: start.map(|start| Hex(start.0)),
            instruction: text,
            features: named(needed.unwrap_or(FeatureSet::EMPTY)),
            reach: known.map(|known| known.reach),
            path: known.map(|known| known.path.clone()).unwrap_or_default(),
        }
    }

    /// What the analysis says of the function that begins there.
    fn known(&self, start: Svma) -> Option<&IsaFunction> {
        let functions = &self.report.isa_functions;
        let found = functions.binary_search_by_key(&start.0, |function| function.svma.0).ok()?;
        functions.get(found)
    }

    fn file_offset(&self, svma: Svma) -> Option<u64> {
        let code = self.image.code_at(svma)?;
        code.file_offset.checked_add(svma.since(code.extent.start)?)
    }

    fn svma(&self, offset: u64) -> Option<Svma> {
        self.image.code.iter().find_map(|code| {
            let within = offset.checked_sub(code.file_offset)?;
            (within < code.extent.len()).then(|| Svma(code.extent.start.0.wrapping_add(within)))
        })
    }
}

fn named(features: FeatureSet) -> Vec<String> {
    features.iter().map(|feature| feature.name().to_owned()).collect()
}

/// Blocks as ranges without overlap, in order.
fn merged(blocks: &BTreeMap<u64, u32>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (&start, &length) in blocks {
        let end = start.saturating_add(length.into());
        match ranges.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => ranges.push((start, end)),
        }
    }
    ranges
}

/// Whether some range shares a byte with this one.
fn is_in(ranges: &[(u64, u64)], wanted: std::ops::Range<u64>) -> bool {
    let before_end = ranges.partition_point(|(start, _)| *start < wanted.end);
    before_end.checked_sub(1).and_then(|i| ranges.get(i)).is_some_and(|(_, end)| *end > wanted.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_blocks_are_one_range() {
        let blocks = BTreeMap::from([(10, 30), (12, 4), (40, 2), (50, 1)]);
        let ranges = merged(&blocks);
        assert_eq!(ranges, [(10, 42), (50, 51)]);
        for (wanted, is) in
            [(39..40, true), (42..50, false), (0..10, false), (0..11, true), (41..60, true), (51..60, false)]
        {
            assert_eq!(is_in(&ranges, wanted.clone()), is, "{wanted:?}");
        }
    }
}

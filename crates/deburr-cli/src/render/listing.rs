//! Text for people: annotated disassembly.
//!
//! In: a [`Listing`], and the lines of source files, which the caller's reader brings. Out: one line an
//! instruction, with a gutter of loops and exclusive sequences, source lines in between, and findings below
//! what they are about.

use super::style::Palette;
use crate::text::line::fit;
use deburr_core::listing::{Edge, Line, Listing, Target};
use deburr_core::report::{PlacedFinding, SourceLocation};
use deburr_text::one_line;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

/// How to lay it out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListingLayout {
    pub(crate) palette: Palette,
    /// Columns that a line may take; `None`: as many as it needs.
    pub(crate) width: Option<usize>,
    /// Whether the bytes are shown.
    pub(crate) bytes: bool,
    /// Whether source lines are shown.
    pub(crate) source: bool,
}

/// Columns of the mnemonic and the space after it.
const MNEMONIC: usize = 8;

/// A text on one line; tabs are four spaces.
fn printable(text: &str) -> String {
    one_line(&text.trim_end().replace('\t', "    ")).into_owned()
}

/// Renders a listing. `source`: the lines of a source file, if it can be had.
pub(crate) fn write(
    out: &mut dyn Write,
    listing: &Listing,
    layout: &ListingLayout,
    source: &mut dyn FnMut(&str) -> Option<Arc<[String]>>,
) -> io::Result<()> {
    let palette = layout.palette;
    let out: &mut dyn Write = &mut palette.plain(out);
    let function = &listing.function;
    let name = printable(function.name.as_deref().unwrap_or("(no name)"));
    let section = function.section.as_ref().map(|section| format!("{section}+")).unwrap_or_default();
    let head = format!(
        "{} at {section}{}: {}, {} bytes, {} instructions",
        palette.bold(&name),
        function.svma,
        listing.arch,
        function.size,
        listing.instructions
    );
    writeln!(out, "{}: {head}", printable(&listing.path))?;
    if let Some(compiled) = &listing.compiled {
        writeln!(out, "  {compiled}")?;
    }
    if let Some(runtime) = &listing.runtime {
        writeln!(out, "  file: {}", printable(&runtime.to_string()))?;
    }
    let columns = Columns::of(listing, layout);
    let mut last_source: Option<&SourceLocation> = None;
    for line in &listing.insns {
        left_out(out, line.skipped, layout)?;
        if line.skipped == 0 && line.after_gap {
            writeln!(out, "{}", palette.dim("  ⋮"))?;
        }
        if let Some(place) = line.source.as_ref().filter(|&place| layout.source && Some(place) != last_source)
        {
            let is_known = last_source.is_some_and(|last| last.file == place.file);
            source_line(out, place, is_known, layout, source)?;
            last_source = Some(place);
        }
        let text = columns.instruction(line, layout);
        writeln!(out, "{}", text.trim_end())?;
        for finding in &line.findings {
            self::finding(out, finding, &columns, line, layout)?;
        }
    }
    left_out(out, listing.skipped_after, layout)
}

fn left_out(out: &mut dyn Write, count: usize, layout: &ListingLayout) -> io::Result<()> {
    match count {
        0 => Ok(()),
        1 => writeln!(out, "{}", layout.palette.dim("  ⋮ 1 instruction")),
        n => writeln!(out, "{}", layout.palette.dim(&format!("  ⋮ {n} instructions"))),
    }
}

/// `src/lock.c:7  while (…)`; without the folders where the line before was of the same file.
fn source_line(
    out: &mut dyn Write,
    place: &SourceLocation,
    is_known: bool,
    layout: &ListingLayout,
    source: &mut dyn FnMut(&str) -> Option<Arc<[String]>>,
) -> io::Result<()> {
    let index = usize::try_from(place.line).ok().and_then(|line| line.checked_sub(1));
    let text = index.and_then(|index| Some(printable(source(&place.file)?.get(index)?))).unwrap_or_default();
    let short = place.file.rsplit('/').next().unwrap_or(&place.file);
    let file = if is_known { short } else { &place.file };
    let line = format!("{}:{}  {text}", printable(file), place.line);
    writeln!(out, "{}", layout.palette.dim(&fit(line.trim_end(), layout.width)))
}

/// A finding below its instruction, as a compiler points at a line.
fn finding(
    out: &mut dyn Write,
    finding: &PlacedFinding,
    columns: &Columns,
    line: &Line,
    layout: &ListingLayout,
) -> io::Result<()> {
    let label = format!("{}[{}]", finding.severity.name(), finding.rule);
    let before = format!("{}{}", " ".repeat(columns.before_gutter), columns.gutter(line, true));
    let label = layout.palette.severity(finding.severity, &format!("^ {label}"));
    writeln!(out, "{before}{label}: {}", printable(&finding.message))
}

/// How wide everything is.
struct Columns {
    address: usize,
    bytes: usize,
    before_gutter: usize,
    depth: usize,
    has_exclusive: bool,
}

impl Columns {
    fn of(listing: &Listing, layout: &ListingLayout) -> Columns {
        let insns = &listing.insns;
        let address = insns.iter().map(|line| place(line).chars().count()).max().unwrap_or(0);
        let bytes =
            insns.iter().map(|line| line.bytes.len() * 3 / 2).max().filter(|_| layout.bytes).unwrap_or(0);
        let depth = insns.iter().map(|line| line.loops.len()).max().unwrap_or(0);
        let has_exclusive = insns.iter().any(|line| line.exclusive.is_some());
        Columns { address, bytes, before_gutter: 2 + address + 2 + bytes, depth, has_exclusive }
    }

    fn instruction(&self, line: &Line, layout: &ListingLayout) -> String {
        let mut text = format!("  {:>1$}  ", place(line), self.address);
        if layout.bytes {
            let bytes: Vec<String> = line
                .bytes
                .as_bytes()
                .chunks(2)
                .map(|pair| String::from_utf8_lossy(pair).into_owned())
                .collect();
            let _ = write!(text, "{:1$}", bytes.join(" "), self.bytes);
        }
        text.push_str(&self.gutter(line, false));
        let (mnemonic, operands) = split(&line.text);
        let mut insn = if operands.is_empty() {
            mnemonic.to_owned()
        } else {
            format!("{mnemonic:<width$}{operands}", width = MNEMONIC.max(mnemonic.len() + 1))
        };
        if let Some(target) = &line.target {
            insn.push_str(&label(target, line));
        }
        text.push_str(&insn);
        if !line.features.is_empty() {
            text.push_str(&layout.palette.bold(&format!("  [{}]", line.features.join(" "))));
        }
        text
    }

    /// Loops by depth, then the exclusive sequence. `below`: for the line below the instruction.
    fn gutter(&self, line: &Line, below: bool) -> String {
        let mut text = String::new();
        for depth in 0..self.depth {
            let edge = line.loops.get(depth).map(|around| around.edge);
            text.push(glyph(edge, below, ['┌', '│', '└', '╶']));
        }
        if self.depth > 0 {
            text.push(' ');
        }
        if self.has_exclusive {
            text.push(glyph(line.exclusive, below, ['┏', '┃', '┗', '╺']));
            text.push(' ');
        }
        text
    }
}

fn glyph(edge: Option<Edge>, below: bool, [first, inside, last, only]: [char; 4]) -> char {
    match (edge, below) {
        (None, _) | (Some(Edge::Last | Edge::Only), true) => ' ',
        (Some(Edge::First | Edge::Inside), true) | (Some(Edge::Inside), false) => inside,
        (Some(Edge::First), false) => first,
        (Some(Edge::Last), false) => last,
        (Some(Edge::Only), false) => only,
    }
}

/// The mnemonic with its prefixes, and the operands.
fn split(text: &str) -> (&str, &str) {
    const PREFIXES: [&str; 7] = ["lock", "rep", "repe", "repne", "notrack", "bnd", "xacquire"];
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    match rest.split_once(' ') {
        Some((mnemonic, operands)) if PREFIXES.contains(&first) => {
            (&text[..first.len() + 1 + mnemonic.len()], operands)
        }
        _ => (first, rest),
    }
}

/// `.text+0x18`, or `0x4a10`.
fn place(line: &Line) -> String {
    match &line.section {
        Some(section) => format!("{section}+{}", line.svma),
        None => line.svma.to_string(),
    }
}

/// `  → spin_lock+0x8`, or `  # 0x4010` for data.
fn label(target: &Target, line: &Line) -> String {
    let arrow = if target.is_transfer { "→" } else { "#" };
    let mut text = format!("  {arrow} ");
    match (&target.name, target.svma) {
        (Some(name), _) => {
            text.push_str(&printable(name));
            if target.offset > 0 {
                let _ = write!(text, "+{:#x}", target.offset);
            }
        }
        (None, Some(svma)) => {
            if let Some(section) = &target.section {
                let _ = write!(text, "{section}+");
            }
            let _ = write!(text, "{svma}");
        }
        (None, None) => return String::new(),
    }
    // A literal address in the text says it already.
    let is_said =
        target.name.is_none() && line.text.contains(&format!("{:#x}", target.svma.map_or(0, |svma| svma.0)));
    if is_said && !target.is_transfer { String::new() } else { text }
}

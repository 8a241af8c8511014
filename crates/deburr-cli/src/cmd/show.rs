//! `deburr show`: a file and a place in it → annotated disassembly.
//!
//! In: the options. Out: the listing of one function as text or JSON; candidates where the name is ambiguous.

use crate::analysis::{Analysis, JitPart, Provenance, Refusal, Siblings};
use crate::args::format::{Format, When};
use crate::args::show::{Show, Syntax};
use crate::cmd::failure::Failure;
use crate::cmd::terminal::{colored, width_of_terminal};
use crate::input::content::Content;
use crate::input::mapped::Bytes;
use crate::input::source_lines::SourceLines;
use crate::names::nearest;
use crate::render::listing::{self, ListingLayout};
use crate::render::style::Palette;
use crate::system_error::error_text;
use deburr_core::image::Archive;
use deburr_core::insn::text;
use deburr_core::listing::{Candidate, Listing};
use deburr_core::report::SCHEMA_VERSION;
use deburr_core::{ListingPlace, Shown, View};
use deburr_profile::jit_images;
use deburr_text::ShownPath as _;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Functions listed where several answer to a name.
const CANDIDATES: usize = 20;

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    tool_version: &'static str,
    #[serde(flatten)]
    listing: &'a Listing,
}

/// Runs the verb.
pub(super) fn run(options: &Show, color: When, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let analysis = Analysis::new(&options.analysis, &options.debug_files).map_err(Failure::Message)?;
    let syntax = match options.syntax {
        Syntax::Att => text::Syntax::Att,
        Syntax::Intel => text::Syntax::Intel,
    };
    let view = View { syntax, context: options.context, whole: options.whole };
    let (file, member) = file_and_member(&options.file);
    let complain = |reason: &str| Failure::Message(format!("{}: {reason}", options.file.shown()));
    let bytes = Bytes::open(&file).map_err(|error| complain(&error_text(&error)))?;
    // As the names are that it is compared with.
    let wanted = deburr_text::one_line(&options.place);
    let place = ListingPlace::parse(&wanted);
    let list = |object: &[u8], path: &str, file: Option<&Path>, jit: Option<JitPart<'_>>| {
        let provenance = Provenance {
            path,
            file,
            siblings: Siblings::default(),
            held: None,
            root: None,
            stored_at: None,
            is_packed: false,
            is_named: true,
            jit,
        };
        analysis
            .run(object, provenance, &[], |bytes, request| deburr_core::listing(bytes, request, place, view))
    };
    let path = file.shown().into_owned();
    let answers: Vec<(String, Result<Shown, Refusal>)> = match Content::of_all(&bytes) {
        Content::Elf if member.is_none() => vec![(path.clone(), list(&bytes, &path, Some(&file), None))],
        Content::Archive => {
            let archive = Archive::parse(&bytes).map_err(|error| complain(&error.to_string()))?;
            let members = archive.map(|archive| archive.members).unwrap_or_default();
            let chosen = members.iter().filter(|it| member.as_ref().is_none_or(|name| it.name == *name));
            let objects = chosen.filter_map(|member| {
                let object = bytes.get(member.range.clone())?;
                let path = format!("{path}({})", member.name);
                (Content::of_all(object) == Content::Elf)
                    .then(|| (path.clone(), list(object, &path, None, None)))
            });
            objects.collect()
        }
        Content::Jitdump if member.is_none() => {
            let jit = jit_images(&bytes).map_err(|error| complain(&error.to_string()))?;
            let parts = jit.images.iter().map(|image| {
                let part = Some(JitPart { dump: &file, image });
                (path.clone(), list(&image.elf, &path, None, part))
            });
            parts.collect()
        }
        _ => return Err(complain("no ELF file")),
    };
    if !bytes.is_intact() {
        return Err(complain("the file changed while it was read"));
    }
    let mut listings = Vec::new();
    let (mut candidates, mut names, mut refusal) = (Vec::new(), Vec::new(), None);
    for (path, shown) in answers {
        match shown {
            Ok(Shown::Listing(listing)) => listings.push((path, *listing)),
            Ok(Shown::Several(several)) => {
                candidates.extend(several.into_iter().map(|it| (path.clone(), it)))
            }
            Ok(Shown::Nowhere(all)) => names.extend(all),
            Err(error) => refusal = Some(error.reason),
        }
    }
    if let ([_], []) = (listings.as_slice(), candidates.as_slice()) {
        let Some((path, mut listing)) = listings.pop() else { return Ok(ExitCode::from(2)) };
        listing.path = path;
        for insn in &mut listing.insns {
            analysis.config.change_severities(&mut insn.findings);
        }
        return render(options, color, listing, out);
    }
    candidates.extend(listings.into_iter().map(|(path, listing)| (path, listing.function)));
    Err(Failure::Message(match (candidates.is_empty(), refusal) {
        (false, _) => several(&wanted, &candidates, member.is_none()),
        (true, Some(reason)) => format!("{}: {reason}", options.file.shown()),
        (true, None) => nowhere(options, place, &names),
    }))
}

fn render(options: &Show, color: When, listing: Listing, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let terminal = io::stdout().is_terminal();
    match options.format {
        Format::Json => {
            let document = Document {
                schema_version: SCHEMA_VERSION,
                tool_version: env!("CARGO_PKG_VERSION"),
                listing: &listing,
            };
            if terminal {
                serde_json::to_writer_pretty(&mut *out, &document).map_err(io::Error::from)?;
            } else {
                serde_json::to_writer(&mut *out, &document).map_err(io::Error::from)?;
            }
            writeln!(out)?;
        }
        _ => {
            let layout = ListingLayout {
                palette: Palette::new(colored(color, terminal)),
                width: terminal.then(width_of_terminal).flatten(),
                bytes: options.bytes,
                source: !options.no_source,
            };
            let mut sources = SourceLines::default();
            listing::write(out, &listing, &layout, &mut |file| sources.of(file))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A path, and the member of an archive that `lib.a(member.o)` names, where no file has the whole name.
fn file_and_member(given: &Path) -> (PathBuf, Option<String>) {
    let whole = (given.to_owned(), None);
    if given.exists() {
        return whole;
    }
    let split = given.to_str().and_then(|text| text.strip_suffix(')')?.split_once('('));
    split.map_or(whole, |(file, member)| (PathBuf::from(file), Some(member.to_owned())))
}

fn several(wanted: &str, candidates: &[(String, Candidate)], with_path: bool) -> String {
    let mut text = format!("several functions answer to `{wanted}`:");
    let is_one_file = candidates.windows(2).all(|pair| matches!(pair, [a, b] if a.0 == b.0));
    for (path, candidate) in candidates.iter().take(CANDIDATES) {
        let section = candidate.section.as_ref().map(|section| format!("{section}+")).unwrap_or_default();
        let name = candidate.name.as_deref().unwrap_or("(no name)");
        text.push_str(&format!("\n  {section}{}  {name}", candidate.svma));
        if with_path && !is_one_file {
            text.push_str(&format!("  in {path}"));
        }
    }
    if candidates.len() > CANDIDATES {
        text.push_str(&format!("\n  … and {} more", candidates.len() - CANDIDATES));
    }
    text.push_str("\ngive the address instead");
    text
}

fn nowhere(options: &Show, place: ListingPlace<'_>, names: &[String]) -> String {
    let file = options.file.shown();
    match place.base {
        Some(base) if place.offset.is_none() => {
            let hint = match nearest(base, names.iter().map(String::as_str)) {
                Some(nearest) => format!("; did you mean `{nearest}`?"),
                None if names.is_empty() => ": the file names no function, give an address".to_owned(),
                None => String::new(),
            };
            format!("{file}: no function is called `{base}`{hint}")
        }
        _ => format!("{file}: no code at {}", deburr_text::one_line(&options.place)),
    }
}

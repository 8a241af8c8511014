//! Python's simple index: the page of each project → its wheels → those that are wanted.
//!
//! Source: PEP 503 (HTML) and PEP 691 (JSON), kept by PyPA as "Simple repository API"; PEP 592 (yanked files).

mod html;
mod json;
mod name;
mod page;
mod project;
mod wheel;

use crate::choice::Choice;
use crate::entry::{Entry, Selection};
use crate::error::{Error, Place, Remarks, quoted};
use crate::fetch::{Fetch, Opened, begin, open};
use crate::index::bounded;
use crate::limits::PAGE;
use name::{is_name, normalised};
use page::Linked;
use project::Project;
use std::collections::BTreeSet;
use std::io::BufRead;

/// What is asked for. Whatever comes is taken for what it looks like.
pub(crate) const ACCEPT: (&str, &str) = (
    "Accept",
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1",
);

/// Where a project's page may be: the root is that of a server, or ends in `simple/`; a server answers by folder, or has files.
const PLACES: [(&str, &str); 4] = [("simple/", ""), ("", ""), ("simple/", "index.html"), ("", "index.html")];

pub(crate) fn entries(
    fetch: &dyn Fetch,
    selection: &Selection,
    found: &mut dyn FnMut(Entry),
) -> Result<Remarks, Error> {
    if selection.packages.is_empty() {
        let what = "a Python index is too large to be read whole: name packages (--package, --packages-from)";
        return Err(Error::Selection(what.to_owned()));
    }
    // The names as they are compared; one project may be named twice.
    let names: BTreeSet<String> = selection.packages.iter().map(|name| normalised(name)).collect();
    if let Some(name) = selection.packages.iter().find(|name| !is_name(name)) {
        let what = format!("{} is no name of a Python project (--package, --packages-from)", quoted(name));
        return Err(Error::Selection(what));
    }
    let everything = Selection { packages: Vec::new(), all_versions: true, ..Selection::default() };
    let (mut remarks, mut choice) = (Remarks::default(), Choice::new(&everything, found));
    let mut place = 0;
    for name in &names {
        let Some((page, opened)) = page_of(fetch, name, &mut place)? else {
            remarks.add(&format!("simple/{name}/"), Place::Whole, "there is no such project".to_owned());
            continue;
        };
        let (mut project, mut on_files) = (Project::new(name, &page, selection), Remarks::default());
        let read = parse(&mut bounded(opened, PAGE), &page, &mut |linked, record| {
            project.take(linked, record, &mut on_files);
        });
        match read {
            Ok(()) => {
                remarks.append(on_files);
                project.finish(&mut choice, &mut remarks)?;
            }
            // No page states anything of another: the other projects are all there without this one.
            Err(error) => remarks.left_out(&page, &error),
        }
    }
    choice.finish("the index", &mut remarks);
    Ok(remarks)
}

/// The page of a project, at the first of the places where there is one; the place where the last one was comes first.
fn page_of<'f>(
    fetch: &'f dyn Fetch,
    name: &str,
    last: &mut usize,
) -> Result<Option<(String, Opened<'f>)>, Error> {
    for step in 0..PLACES.len() {
        let at = (*last + step) % PLACES.len();
        let Some((before, after)) = PLACES.get(at) else { continue };
        let page = format!("{before}{name}/{after}");
        if let Some(opened) = open(fetch, &page, &[ACCEPT], PAGE)? {
            *last = at;
            return Ok(Some((page, opened)));
        }
    }
    Ok(None)
}

/// Whether there is the page of a wanted project, or the list of all projects.
pub(crate) fn is_there(fetch: &dyn Fetch, selection: &Selection) -> Result<bool, Error> {
    const PAGE: [&str; 6] =
        ["pypi:repository-version", "<title>links for", "#sha256=", ".whl", "\"files\"", "api-version"];
    const LIST: [&str; 4] = ["pypi:repository-version", "<title>simple", "\"projects\"", "api-version"];
    // A few do: one of them is there, or the index is another.
    let names = selection.packages.iter().filter(|name| is_name(name)).map(|name| normalised(name)).take(8);
    let pages =
        names.flat_map(|name| PLACES.map(|(before, after)| (format!("{before}{name}/{after}"), &PAGE[..])));
    let lists = PLACES.map(|(before, after)| (format!("{before}{after}"), &LIST[..]));
    for (page, says) in pages.chain(lists) {
        let Some(begin) = begin(fetch, &page, &[ACCEPT])? else { continue };
        let begin = begin.trim_start().to_ascii_lowercase();
        if begin.starts_with(['{', '<']) && says.iter().any(|word| begin.contains(word)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn parse(stream: &mut dyn BufRead, page: &str, found: &mut dyn FnMut(Linked, u64)) -> Result<(), Error> {
    let first = loop {
        let block = stream.fill_buf().map_err(|error| Error::read(page, Place::Whole, error))?;
        let spaces = block.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        match block.get(spaces) {
            Some(first) => break Some(*first),
            None if block.is_empty() => break None,
            None => stream.consume(spaces),
        }
    };
    match first {
        Some(b'{') => json::parse(stream, page, found),
        Some(b'<') => html::parse(stream, page, found),
        _ => Err(Error::index(page, Place::Whole, "is neither JSON nor HTML")),
    }
}

//! The HTML form of a project's page (PEP 503): links, of which each is a file.

use super::page::{Linked, check_version};
use crate::error::Error;
use crate::location::split_fragment;
use crate::xml::{Markup, Markups, Node, Tag, fault};
use std::cell::Cell;
use std::io::BufRead;

/// Elements of text: the HTML standard, 13.2.6.4.4 and 13.2.6.4.7.
const RAW: [&str; 9] =
    ["iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"];

/// Calls `found` for each link, with its number.
///
/// # Errors
/// Where the page is no HTML, or has no `</html>`: a page without it may have been cut off.
pub(super) fn parse(
    stream: &mut dyn BufRead,
    page: &str,
    found: &mut dyn FnMut(Linked, u64),
) -> Result<(), Error> {
    let ration = Cell::new(0);
    let mut document = Markups::new(stream, Markup::Html, &ration);
    let (mut record, mut is_whole) = (0, false);
    // The element that is open of those in which nothing is markup but their own end.
    let mut raw: Option<String> = None;
    loop {
        let node = document.next().map_err(|what| fault(page, record, what))?;
        match node {
            Node::Start(_) | Node::Other if raw.is_some() => {
                let what =
                    "markup in a script or a style, or in another element of text, which may hide links";
                return Err(fault(page, record, what));
            }
            Node::Start(tag) => {
                raw = Some(tag.name()).filter(|name| RAW.contains(&name.as_str()));
                let read = match tag.name().as_str() {
                    "a" => linked(&tag),
                    "meta" => version(&tag).map(|()| None),
                    "base" => Err("has an element base, which changes what links mean".to_owned()),
                    _ => Ok(None),
                };
                if let Some(linked) = read.map_err(|what| fault(page, record, what))? {
                    record += 1;
                    found(linked, record);
                }
            }
            Node::End(name) => {
                raw = raw.filter(|raw| !name.eq_ignore_ascii_case(raw));
                is_whole |= raw.is_none() && name.eq_ignore_ascii_case("html");
            }
            Node::Text(_) | Node::Other => {}
            Node::Eof if is_whole => return Ok(()),
            Node::Eof => return Err(fault(page, record, "cut off: there is no </html>")),
        }
    }
}

/// A link with a target.
fn linked(tag: &Tag) -> Result<Option<Linked>, String> {
    let Some(link) = tag.attribute("href")? else { return Ok(None) };
    let (_, fragment) = split_fragment(&link);
    let sha256 = fragment.split('&').find_map(|part| part.strip_prefix("sha256=")).map(str::to_owned);
    let is_yanked = tag.attribute("data-yanked")?.is_some();
    Ok(Some(Linked { name: None, link: Some(link), sha256, size: None, is_yanked }))
}

/// PEP 629.
fn version(tag: &Tag) -> Result<(), String> {
    if tag.attribute("name")?.as_deref() != Some("pypi:repository-version") {
        return Ok(());
    }
    check_version(&tag.attribute("content")?.unwrap_or_default())
}

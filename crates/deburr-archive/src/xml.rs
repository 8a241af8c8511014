//! XML and HTML as a stream of elements, in bounded memory.
//!
//! `quick-xml` parses. This file adds what an index from anywhere needs: limits of a tag, a text and of depth, no document type where
//! XML has no use for it, and an end that must be there.

use crate::error::{Error, Place, quoted, said};
use crate::index::Rationed;
use crate::limits::{DEPTH, FIELD};
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use std::cell::Cell;
use std::io::BufRead;

/// A grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markup {
    /// Well-formed.
    Xml,
    /// Elements may lack an end, attributes their quotes.
    Html,
}

/// What comes next.
pub(crate) enum Node {
    Start(Tag),
    /// The end of an element, also of one that is empty.
    End(String),
    /// A part of a text.
    Text(String),
    /// A comment, or another construct of HTML without a meaning here.
    Other,
    /// The end of the document.
    Eof,
}

/// The start of an element.
pub(crate) struct Tag {
    start: BytesStart<'static>,
    markup: Markup,
}

/// A document that is read.
pub(crate) struct Markups<'a> {
    reader: Reader<Rationed<'a>>,
    markup: Markup,
    ration: &'a Cell<u64>,
    buffer: Vec<u8>,
    depth: usize,
}

impl<'a> Markups<'a> {
    /// The ration is the reader's own; it is made outside, since two share it.
    pub(crate) fn new(stream: &'a mut dyn BufRead, markup: Markup, ration: &'a Cell<u64>) -> Markups<'a> {
        let mut reader = Reader::from_reader(Rationed::new(stream, ration));
        let config = reader.config_mut();
        config.expand_empty_elements = markup == Markup::Xml;
        config.check_end_names = markup == Markup::Xml;
        config.allow_unmatched_ends = markup == Markup::Html;
        config.allow_dangling_amp = markup == Markup::Html;
        Markups { reader, markup, ration, buffer: Vec::new(), depth: 0 }
    }

    /// How many elements are open. In HTML nobody knows.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The next node. What is wrong is said without a place.
    pub(crate) fn next(&mut self) -> Result<Node, String> {
        loop {
            self.buffer.clear();
            self.ration.set(FIELD);
            let event = self.reader.read_event_into(&mut self.buffer).map_err(|error| said(&error))?;
            if self.markup == Markup::Html && ends_before(&event) {
                return Err("a comment or a declaration that ends earlier in HTML than in XML".to_owned());
            }
            match event.into_owned() {
                Event::Start(start) | Event::Empty(start) => {
                    match self.markup {
                        Markup::Xml => self.depth += 1,
                        Markup::Html => check_tag(&start)?,
                    }
                    if self.depth > DEPTH {
                        return Err(format!("more than {DEPTH} elements within one another"));
                    }
                    return Ok(Node::Start(Tag { start, markup: self.markup }));
                }
                Event::End(end) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Node::End(end.name().as_ref().to_owned()));
                }
                Event::Text(text) => return Ok(Node::Text(text.into_inner().into_owned())),
                Event::Comment(_) | Event::PI(_) | Event::CData(_) if self.markup == Markup::Html => {
                    return Ok(Node::Other);
                }
                Event::CData(text) => return Ok(Node::Text(text.into_inner().into_owned())),
                Event::GeneralRef(name) if self.markup == Markup::Xml => {
                    let character = name.resolve_char_ref().map_err(|error| said(&error))?;
                    let text = character.map(String::from);
                    let text = text.or_else(|| resolve_predefined_entity(&name).map(str::to_owned));
                    return text
                        .map(Node::Text)
                        .ok_or_else(|| format!("the entity {} is not known", quoted(&name)));
                }
                Event::DocType(_) if self.markup == Markup::Xml => {
                    return Err("a document type, which this index has no use for".to_owned());
                }
                Event::Eof if self.depth > 0 => return Err("cut off within an element".to_owned()),
                Event::Eof => return Ok(Node::Eof),
                Event::GeneralRef(_)
                | Event::DocType(_)
                | Event::Comment(_)
                | Event::PI(_)
                | Event::Decl(_) => {}
            }
        }
    }
}

/// Whether HTML has the end of such a construct before the end that the parser has found, so that links between them would be lost: the
/// HTML standard, 13.2.5.41 to 13.2.5.53.
fn ends_before(event: &Event) -> bool {
    match event {
        Event::Comment(text) => text.starts_with('>') || text.starts_with("->") || text.contains("--!>"),
        Event::CData(text) => text.contains('>'),
        Event::PI(text) => text.contains('>'),
        Event::Decl(text) => text.contains('>'),
        Event::DocType(text) => text.contains('>'),
        _ => false,
    }
}

/// HTML takes `<` and quotes as text in places where the parser lets a tag begin or go on. Such a tag would swallow the links after it.
/// And it takes `/` and a form feed between attributes, where the parser has them in a name: such a tag would lose its link.
fn check_tag(tag: &str) -> Result<(), String> {
    if !tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(format!("{} is no tag", quoted(&format!("<{tag}"))));
    }
    let (mut quote, mut before, mut in_value) = (None, ' ', false);
    for c in tag.trim_end().trim_end_matches('/').chars() {
        in_value = !c.is_whitespace() && (in_value || before == '=');
        match (quote, c) {
            (Some(open), c) if c == open => (quote, in_value) = (None, false),
            (Some(_), _) => {}
            (None, '<') => return Err(format!("a tag within the tag {}", quoted(tag))),
            (None, '"' | '\'') if before != '=' => {
                return Err(format!("a quote in the tag {} that begins no value", quoted(tag)));
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '/') if !in_value => return Err(format!("a slash in the tag {}", quoted(tag))),
            (None, '\x0c') => return Err(format!("a form feed in the tag {}", quoted(tag))),
            (None, _) => {}
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    Ok(())
}

impl Tag {
    /// Its name: in HTML in lower case, in XML as it is, with its prefix.
    pub(crate) fn name(&self) -> String {
        let name = self.start.name();
        match self.markup {
            Markup::Xml => name.as_ref().to_owned(),
            Markup::Html => name.as_ref().to_ascii_lowercase(),
        }
    }

    /// The value of an attribute. In XML it must not be there twice.
    pub(crate) fn attribute(&self, name: &str) -> Result<Option<String>, String> {
        let is_html = self.markup == Markup::Html;
        let mut attributes = if is_html { self.start.html_attributes() } else { self.start.attributes() };
        let mut found = None;
        // The check of the library compares each with each.
        for attribute in attributes.with_checks(false) {
            let attribute = attribute.map_err(|error| said(&error))?;
            let key = attribute.key.as_ref();
            if key != name && !(is_html && key.eq_ignore_ascii_case(name)) {
                continue;
            }
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = match value {
                Ok(value) => value.into_owned(),
                // `&` in a link is often alone.
                Err(_) if is_html => attribute.value.into_owned(),
                Err(error) => return Err(said(&error)),
            };
            if is_html {
                return Ok(Some(value));
            }
            if found.replace(value).is_some() {
                return Err(format!("the attribute {name} twice"));
            }
        }
        Ok(found)
    }
}

/// An error of a document: at the record that is being read.
pub(crate) fn fault(index: &str, record: u64, what: impl Into<String>) -> Error {
    Error::index(index, if record == 0 { Place::Whole } else { Place::Record(record) }, what)
}

//! `primary.xml`: the packages of a repository.

use crate::error::{Error, Place, quoted};
use crate::limits::FIELD;
use crate::xml::{Markup, Markups, Node, Tag, fault};
use std::cell::Cell;
use std::io::BufRead;

/// An element `package`, as it is written.
#[derive(Debug, Default)]
pub(super) struct Package {
    pub(super) name: Option<String>,
    pub(super) architecture: Option<String>,
    pub(super) epoch: Option<String>,
    pub(super) version: Option<String>,
    pub(super) release: Option<String>,
    /// Its type and its digits.
    pub(super) checksum: Option<(String, String)>,
    pub(super) size: Option<String>,
    pub(super) base: Option<String>,
    pub(super) href: Option<String>,
    /// The first fault: an element twice.
    pub(super) fault: Option<String>,
}

/// Calls `found` for each package, with its number.
///
/// # Errors
/// Where the document is not well-formed, is cut off, or `found` fails.
pub(super) fn parse(
    stream: &mut dyn BufRead,
    index: &str,
    found: &mut dyn FnMut(Package, Place) -> Result<(), Error>,
) -> Result<(), Error> {
    let ration = Cell::new(0);
    let mut document = Markups::new(stream, Markup::Xml, &ration);
    let (mut package, mut field) = (None, String::new());
    let (mut record, mut has_root) = (0, false);
    loop {
        let node = document.next().map_err(|what| fault(index, record, what))?;
        match node {
            Node::Start(tag) => {
                let name = tag.name();
                let begun = match document.depth() {
                    1 if name == "metadata" && !has_root => {
                        has_root = true;
                        Ok(())
                    }
                    1 => Err(format!("the element {} where metadata is expected", quoted(&name))),
                    2 if name == "package" => {
                        record += 1;
                        package = Some(Package::default());
                        Ok(())
                    }
                    3 => package.as_mut().map_or(Ok(()), |package| package.begin(&name, &tag)),
                    _ => Ok(()),
                };
                begun.map_err(|what| fault(index, record, what))?;
                if document.depth() == 3 {
                    field = name;
                }
            }
            Node::Text(text) if document.depth() == 3 => {
                if let Some(package) = &mut package {
                    package.go_on(&field, &text);
                }
            }
            Node::Text(_) | Node::Other => {}
            Node::End(_) => {
                if document.depth() == 1
                    && let Some(package) = package.take()
                {
                    found(package, Place::Record(record))?;
                }
            }
            Node::Eof if has_root => return Ok(()),
            Node::Eof => return Err(fault(index, record, "no element metadata")),
        }
    }
}

impl Package {
    /// An element within a package begins.
    fn begin(&mut self, name: &str, tag: &Tag) -> Result<(), String> {
        let is_again = match name {
            "name" => self.name.replace(String::new()).is_some(),
            "arch" => self.architecture.replace(String::new()).is_some(),
            "version" => {
                let is_again = self.version.is_some();
                (self.epoch, self.version) = (tag.attribute("epoch")?, tag.attribute("ver")?);
                self.release = tag.attribute("rel")?;
                is_again
            }
            "checksum" => {
                let kind = tag.attribute("type")?.unwrap_or_default();
                self.checksum.replace((kind, String::new())).is_some()
            }
            "size" => {
                let is_again = self.size.is_some();
                self.size = tag.attribute("package")?;
                is_again
            }
            "location" => {
                let is_again = self.href.is_some();
                (self.base, self.href) = (tag.attribute("xml:base")?, tag.attribute("href")?);
                is_again
            }
            _ => false,
        };
        if is_again && self.fault.is_none() {
            self.fault = Some(format!("has {name} twice"));
        }
        Ok(())
    }

    /// A part of the text of such an element. A reference like `&amp;` is a part of its own, so that the whole has to be bounded, too.
    fn go_on(&mut self, name: &str, text: &str) {
        let value = match name {
            "name" => self.name.as_mut(),
            "arch" => self.architecture.as_mut(),
            "checksum" => self.checksum.as_mut().map(|(_, digits)| digits),
            _ => None,
        };
        let Some(value) = value else { return };
        if (value.len() + text.len()) as u64 <= FIELD {
            value.push_str(text);
        } else if self.fault.is_none() {
            self.fault = Some(format!("{name} is longer than {FIELD} bytes"));
        }
    }
}

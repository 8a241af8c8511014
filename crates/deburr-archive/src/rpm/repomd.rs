//! `repomd.xml`: where `primary.xml` is, with its size and hash.

use crate::error::{Error, quoted};
use crate::index::{Hash, Stated, hexadecimal, number};
use crate::xml::{Markup, Markups, Node, fault};
use std::cell::Cell;
use std::io::BufRead;

/// The index that `repomd.xml` lists as `primary`.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) base: Option<String>,
    pub(super) href: String,
    pub(super) stated: Stated,
}

/// An element `data` as it is read.
#[derive(Debug, Default)]
struct Data {
    is_primary: bool,
    base: Option<String>,
    href: Option<String>,
    kind: String,
    checksum: Option<String>,
    size: Option<String>,
}

pub(super) fn parse(stream: &mut dyn BufRead, index: &str) -> Result<Listed, Error> {
    let ration = Cell::new(0);
    let mut document = Markups::new(stream, Markup::Xml, &ration);
    let mut record = 0;
    listed(&mut document, &mut record).map_err(|what| fault(index, record, what))
}

fn listed(document: &mut Markups, record: &mut u64) -> Result<Listed, String> {
    let (mut data, mut field, mut primary) = (Data::default(), String::new(), None);
    let mut has_root = false;
    loop {
        let node = document.next()?;
        match node {
            Node::Start(tag) => {
                let (name, kind) = (tag.name(), tag.attribute("type")?);
                let (base, href) = (tag.attribute("xml:base")?, tag.attribute("href")?);
                match document.depth() {
                    1 if name == "repomd" && !has_root => has_root = true,
                    1 => return Err(format!("the element {} where repomd is expected", quoted(&name))),
                    2 if name == "data" => {
                        *record += 1;
                        data = Data { is_primary: kind.as_deref() == Some("primary"), ..Data::default() };
                    }
                    3 => {
                        match name.as_str() {
                            "location" if data.href.is_some() => return Err("two locations".to_owned()),
                            "location" => (data.base, data.href) = (base, href),
                            "checksum" if data.checksum.is_some() => return Err("two checksums".to_owned()),
                            "checksum" => {
                                (data.kind, data.checksum) = (kind.unwrap_or_default(), Some(String::new()));
                            }
                            "size" if data.size.is_some() => return Err("two sizes".to_owned()),
                            "size" => data.size = Some(String::new()),
                            _ => {}
                        }
                        field = name;
                    }
                    _ => {}
                }
            }
            Node::Text(text) if document.depth() == 3 => {
                let slot = match field.as_str() {
                    "checksum" => data.checksum.as_mut(),
                    "size" => data.size.as_mut(),
                    _ => None,
                };
                slot.into_iter().for_each(|slot| slot.push_str(&text));
            }
            Node::Text(_) | Node::Other => {}
            Node::End(name) => {
                if document.depth() == 1 && name == "data" && data.is_primary {
                    if primary.is_some() {
                        return Err("primary twice".to_owned());
                    }
                    primary = Some(std::mem::take(&mut data).listed()?);
                }
            }
            Node::Eof if has_root => return primary.ok_or_else(|| "lists no primary".to_owned()),
            Node::Eof => return Err("no element repomd".to_owned()),
        }
    }
}

impl Data {
    fn listed(self) -> Result<Listed, String> {
        let text = self.checksum.unwrap_or_default();
        let hash = match self.kind.as_str() {
            "sha256" => hexadecimal(text.trim(), 64).map(Hash::Sha256),
            "sha512" => hexadecimal(text.trim(), 128).map(Hash::Sha512),
            other => {
                let what = "the checksum of primary is sha256 or sha512";
                return Err(format!("{what}, not {}", quoted(other)));
            }
        };
        let hash = hash.ok_or_else(|| format!("the checksum {} is no {}", quoted(&text), self.kind))?;
        // Old repositories have none.
        let size = self.size.map(|size| {
            number(size.trim()).ok_or_else(|| format!("the size {} is no number", quoted(&size)))
        });
        let href = self.href.ok_or("primary has no location")?;
        Ok(Listed { base: self.base, href, stated: Stated { size: size.transpose()?, hash: Some(hash) } })
    }
}

//! A container image in a tar archive with some files of its layers changed: what `docker save` writes, with
//! or without an OCI image layout in it (image-spec, "Image Layout", "Content Descriptors", "Image
//! Configuration").
//!
//! A layer is a tar archive, compressed by gzip or not at all. A change in one spreads: the configuration and
//! the manifest hold its digest and the digest of what it unpacks to, indexes hold theirs, and files are
//! named by them. Each document that refers to something that changed is made anew, the deepest first. Every
//! digest that is replaced was compared with what it is said to be of: an image that is damaged gets no new
//! digests that hide it.

mod json;

use super::error::{Made, RewriteError, failed};
use super::job::Job;
use super::payload::Payload;
use super::tar::edit::{Edit, Member};
use super::tar::stream::{Rewriting, Stream, rewritten};
use crate::codec::decode::decoded;
use crate::codec::encode::{Coding, encoded};
use crate::codec::meter::Meter;
use crate::image::Blobs;
use crate::image::archive::ImageArchive;
use crate::image::manifests::{Layer, file_of, layers};
use crate::name::{shown, tidied};
use crate::sniff::{Codec, Format, Found, sniff};
use json::{Changes, Spliced};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::rc::Rc;

/// Documents larger than this are no manifests, as in reading.
const LARGEST_DOCUMENT: usize = 4 << 20;
/// Manifests in indexes in indexes.
const DEEPEST: u32 = 8;

/// An image that is being made anew.
struct Making<'m, 'j, 'a> {
    job: &'m mut Job<'j>,
    image: &'m ImageArchive<'a>,
    changes: Changes,
    /// What files hold now, by the names that they had.
    new: BTreeMap<String, Vec<u8>>,
    /// Files whose names are digests of what they hold, and those that they have now.
    renamed: Vec<(String, String)>,
    /// What changed layers unpacked to, by file, as digests.
    unpacked: HashMap<String, String>,
    /// Documents that were parsed.
    seen: HashSet<String>,
}

/// Makes the image anew.
pub(crate) fn rewrite(
    job: &mut Job<'_>,
    image: &ImageArchive<'_>,
    bytes: &[u8],
    coding: Coding,
) -> Made<Option<Vec<u8>>> {
    let top = job.path.clone();
    let found = layers(&top, &image.images, image);
    let mut making = Making {
        job,
        image,
        changes: Changes::default(),
        new: BTreeMap::new(),
        renamed: Vec::new(),
        unpacked: HashMap::new(),
        seen: HashSet::new(),
    };
    for Layer { path, file } in found {
        making.layer(path, &file)?;
    }
    if making.new.is_empty() {
        return Ok(None);
    }
    making.documents()?;
    making.note();
    let Making { new, renamed, .. } = making;
    let length: usize = new.values().map(Vec::len).sum();
    let meter = Rc::clone(&job.meter);
    let mut files = Files { new, renamed };
    let mut whole = Rewriting::new(&top, bytes, Rc::clone(&meter), &mut files);
    let most = (bytes.len() as u64).saturating_add(length as u64).saturating_add(meter.limits.member_bytes);
    encoded(coding, &mut whole, most).map(Some).map_err(|error| failed(&top, &meter, error))
}

impl Making<'_, '_, '_> {
    fn refused(&self, file: &str, reason: &str) -> RewriteError {
        let path = format!("{}!{}", self.job.path, shown(file.as_bytes()));
        RewriteError::Refused { path, reason: format!("image: {reason}") }
    }

    fn unreadable(&self, file: &str, reason: &str) -> RewriteError {
        let path = format!("{}!{}", self.job.path, shown(file.as_bytes()));
        RewriteError::Unreadable { path, reason: format!("image: {reason}") }
    }

    /// Changes the binaries of a layer.
    fn layer(&mut self, path: String, file: &str) -> Made<()> {
        let Some(bytes) = self.image.bytes_of(file) else { return Ok(()) };
        let codec = match sniff(bytes) {
            Found::Package(Format::Tar) => None,
            Found::Compressed(codec) => Some(codec),
            // An empty archive, or a statement about an image.
            _ if matches!(bytes.first(), None | Some(0 | b'{')) => return Ok(()),
            _ => return Err(self.refused(file, "a layer that is no tar archive: encrypted?")),
        };
        if codec.is_some() && sniff(&self.job.first_block(codec, bytes)?) != Found::Package(Format::Tar) {
            return Ok(());
        }
        let coding = Coding::like(codec, bytes);
        let is_written = coding.is_some();
        let top = std::mem::replace(&mut self.job.path, path.clone());
        let meter = Rc::clone(&self.job.meter);
        let mut payload = Payload::new(self.job, true);
        let stream = Stream { codec, bytes };
        let made = rewritten(&path, &meter, stream, coding.unwrap_or(Coding::Plain), &mut payload);
        let is_indexed = payload.is_indexed;
        self.job.path = top;
        let Some(made) = made? else { return Ok(()) };
        if !is_written {
            let name = codec.map_or("", Codec::name);
            return Err(self
                .refused(file, &format!("a layer compressed with {name}, which is read, but not written")));
        }
        if is_indexed {
            return Err(self
                .refused(file, "a layer with an index of its own bytes (eStargz), which is not made anew"));
        }
        if self.image.has_several(file) {
            return Err(self.refused(file, "more than one file of this name"));
        }
        let held = self.new.values().map(|new| new.len() as u64).sum::<u64>();
        self.job.admit(file.as_bytes(), held.saturating_add(made.len() as u64))?;
        let [old, new] = [bytes, &made].map(|bytes| self.unpacked(file, codec, bytes));
        let (old, new) = (old?, new?);
        self.changes.insert(old.clone(), new, made.len());
        self.unpacked.insert(file.to_owned(), old);
        self.put(file, bytes, made)
    }

    /// The digest of what a layer unpacks to.
    fn unpacked(&self, file: &str, codec: Option<Codec>, bytes: &[u8]) -> Made<String> {
        let meter = Meter::new(&self.job.meter.limits, bytes);
        let mut digest = Digested(Sha256::new());
        let read = io::copy(&mut decoded(codec, bytes, &meter), &mut digest);
        read.map_err(|error| {
            failed(&format!("{}!{}", self.job.path, shown(file.as_bytes())), &meter, error)
        })?;
        Ok(hexadecimal(&digest.0.finalize()))
    }

    /// Takes up what a file holds now, and the name that it has by that.
    fn put(&mut self, file: &str, old: &[u8], new: Vec<u8>) -> Made<()> {
        let [was, is] = [old, &new].map(|bytes| hexadecimal(&Sha256::digest(bytes)));
        let name = file.rsplit('/').next().unwrap_or(file);
        let stem = name.strip_suffix(".json").or_else(|| name.strip_suffix(".tar")).unwrap_or(name);
        if file.starts_with("blobs/") && (!file.starts_with("blobs/sha256/") || stem != was) {
            return Err(self.unreadable(file, "not what its digest is of, or no digest by SHA-256"));
        }
        if stem == was {
            self.renamed.push((was.clone(), is.clone()));
        }
        self.changes.insert(was, is, new.len());
        self.new.insert(file.to_owned(), new);
        Ok(())
    }

    /// Makes all documents anew that refer to what changed.
    fn documents(&mut self) -> Made<()> {
        if let Some(saved) = self.parsed("manifest.json")? {
            for image in saved.as_array().into_iter().flatten() {
                let config = image.get("Config").and_then(Value::as_str).unwrap_or_default();
                let config = self.image.real(config.trim_start_matches("./"));
                let layers = image.get("Layers").and_then(Value::as_array).into_iter().flatten();
                let layers = layers.map(|layer| layer.as_str().unwrap_or_default().trim_start_matches("./"));
                let layers: Vec<String> = layers.map(|layer| self.image.real(layer)).collect();
                self.check(&config, &layers)?;
                self.document(&config, 1)?;
            }
        }
        ["index.json", "manifest.json", "repositories"]
            .into_iter()
            .try_for_each(|file| self.document(file, 0))
    }

    /// A document with those in it that it refers to, if it is there.
    fn document(&mut self, file: &str, depth: u32) -> Made<()> {
        if depth > DEEPEST || !self.seen.insert(file.to_owned()) {
            return Ok(());
        }
        let Some(parsed) = self.parsed(file)? else { return Ok(()) };
        let config = parsed.pointer("/config/digest").and_then(Value::as_str).and_then(file_of);
        let inner = parsed
            .get("manifests")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .chain(parsed.get("subject"));
        let inner: Vec<String> = inner.filter_map(|it| file_of(it.get("digest")?.as_str()?)).collect();
        let layers = parsed.get("layers").and_then(Value::as_array);
        if let (Some(config), Some(layers)) = (&config, layers) {
            let layers = layers.iter().map(|layer| file_of(layer.get("digest")?.as_str()?));
            let layers: Vec<String> = layers.map(Option::unwrap_or_default).collect();
            self.check(config, &layers)?;
        }
        for file in inner.into_iter().chain(config) {
            self.document(&file, depth + 1)?;
        }
        let Some(old) = self.image.bytes_of(file) else { return Ok(()) };
        let text = std::str::from_utf8(old).map_err(|_| self.unreadable(file, "no JSON"))?;
        let Spliced { bytes, tags } = self.changes.splice(text).map_err(|why| self.refused(file, why))?;
        for tag in tags {
            self.job
                .signatures
                .push(format!("{}: signs the image as it was, and holds no longer", shown(tag.as_bytes())));
        }
        if bytes == old {
            return Ok(());
        }
        if self.image.has_several(file) {
            return Err(self.refused(file, "more than one file of this name"));
        }
        self.put(file, old, bytes)
    }

    /// Sees that a configuration states what changed layers unpack to: it is the only one to say in what
    /// order.
    fn check(&self, config: &str, layers: &[String]) -> Made<()> {
        let Some(parsed) = self.parsed(config)? else { return Ok(()) };
        let Some(stated) = parsed.pointer("/rootfs/diff_ids").and_then(Value::as_array) else {
            return Ok(());
        };
        for (at, layer) in layers.iter().enumerate() {
            let Some(old) = self.unpacked.get(layer) else { continue };
            if stated.get(at).and_then(Value::as_str) != Some(&format!("sha256:{old}")) {
                return Err(self.unreadable(layer, "not the layer that the image's configuration states"));
            }
        }
        Ok(())
    }

    fn parsed(&self, file: &str) -> Made<Option<Value>> {
        let Some(bytes) = self.image.bytes_of(file).filter(|bytes| bytes.len() <= LARGEST_DOCUMENT) else {
            return Ok(None);
        };
        serde_json::from_slice(bytes).map(Some).map_err(|_| self.unreadable(file, "no JSON"))
    }

    /// Says what a person should know of the new image.
    fn note(&mut self) {
        let text = "the image and what changed in it have new digests: whoever names it by one, or has signed one, has the \
                    image as it was";
        self.job.notes.push(text.to_owned());
        let attestation = b"vnd.docker.reference.type";
        let index = self.image.bytes_of("index.json").unwrap_or_default();
        let has_attestations =
            |bytes: &[u8]| bytes.windows(attestation.len()).any(|part| part == attestation);
        if has_attestations(index) || self.new.values().any(|new| has_attestations(new)) {
            let text = "attestations in the image are about the image as it was, and hold no longer";
            self.job.signatures.push(text.to_owned());
        }
    }
}

/// What is written is only digested.
struct Digested(Sha256);

impl io::Write for Digested {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Puts files in their places, under the names that they have now.
struct Files {
    new: BTreeMap<String, Vec<u8>>,
    renamed: Vec<(String, String)>,
}

impl Edit for Files {
    fn wants(&mut self, member: &Member, _first: &[u8]) -> Made<bool> {
        let name = std::str::from_utf8(tidied(&member.name)).ok();
        Ok(member.size.is_some() && name.is_some_and(|name| self.new.contains_key(name)))
    }

    fn edit(&mut self, member: &Member, bytes: Vec<u8>) -> Made<(Vec<u8>, bool)> {
        let name = std::str::from_utf8(tidied(&member.name)).unwrap_or_default();
        Ok(self.new.remove(name).map_or((bytes, false), |new| (new, true)))
    }

    fn renamed(&self) -> &[(String, String)] {
        &self.renamed
    }
}

fn hexadecimal(digest: &[u8]) -> String {
    digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

//! Wheels, taken apart and written anew as variants: the binary distribution format, and PEP 825.
//!
//! In: the name and the bytes of a wheel. Out: its files, each compared with its checksum and with `RECORD`; and the bytes of the
//! same wheel with or without `variant.json`, with a `RECORD` of all files, sorted, and with one time. Members keep their compressed
//! bytes, so that the same wheel gives the same bytes.
//!
//! A wheel is an archive that installers unpack: a name that leads out of the folder, a link, a name that is there twice, bytes that
//! belong to no member, and a `RECORD` that says something else than the files are refused.

mod compose;
mod error;
mod metadata;
mod name;

pub use compose::ZipTime;
pub use error::WheelError;
pub use metadata::{LevelProperty, NULL_LABEL, VariantMetadata, VariantSchema};
pub use name::WheelName;

use crate::claim::{Machines, claims};
use crate::codec::decode::decoded;
use crate::codec::encode::{Coding, encoded};
use crate::codec::meter::Meter;
use crate::limits::Limits;
use crate::name::shown;
use crate::rewrite::zip::directory::{Directory, ENCRYPTED, Entry, Reason};
use crate::rewrite::zip::record::{Sum, recorded};
use crate::sniff::{BLOCK, Codec};
use compose::{Stored, compose};
use flate2::Crc;
use name::normalised;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::rc::Rc;

/// A wheel whose files are what its directory and its `RECORD` say.
#[derive(Debug)]
pub struct Wheel<'a> {
    /// The parts of its file name.
    pub name: WheelName,
    /// For which machines it says that it is.
    pub machines: Machines,
    /// The folder of its metadata: `x-1.0.dist-info`.
    folder: String,
    files: BTreeMap<String, WheelFile<'a>>,
    limits: Limits,
}

/// A file in a wheel.
#[derive(Debug)]
pub struct WheelFile<'a> {
    /// Whether its owner may execute it.
    pub is_executable: bool,
    codec: Option<Codec>,
    crc: u32,
    size: u64,
    data: &'a [u8],
    /// Its hash and size, as a line of `RECORD` has them.
    sum: String,
}

/// What no line of `RECORD` has a hash of: itself, and its signatures.
fn is_unrecorded(file: &str) -> bool {
    matches!(file, "RECORD" | "RECORD.jws" | "RECORD.p7s")
}

impl<'a> Wheel<'a> {
    /// Takes a wheel apart. `file_name` is the name of its file, without folders.
    ///
    /// # Errors
    /// [`WheelError`]: it is no wheel, a damaged or a malicious one.
    pub fn parse(file_name: &str, bytes: &'a [u8], limits: &Limits) -> Result<Wheel<'a>, WheelError> {
        let name = WheelName::parse(file_name).ok_or_else(|| {
            WheelError::new("expected the name of a wheel: PROJECT-VERSION-PYTHON-ABI-PLATFORM.whl")
        })?;
        let directory = Directory::parse(bytes, limits.members).map_err(|reason| match reason {
            Reason::Refused(reason) => WheelError::new(format!("zip: {reason}")),
            Reason::TooMany => WheelError::new(format!("more than {} members", limits.members)),
            Reason::Broken(reason, at) => WheelError::new(format!("zip: {reason}, at byte {at}")),
        })?;
        let meter = Meter::new(limits, bytes);
        let mut files = BTreeMap::new();
        for entry in directory.entries.iter().filter(|entry| !entry.name.ends_with(b"/")) {
            let path = path_of(entry)?;
            let file = WheelFile::read(entry, &meter)
                .map_err(|reason| WheelError::new(format!("{path}: {reason}")))?;
            if files.insert(path.clone(), file).is_some() {
                return Err(WheelError::new(format!("zip: more than one member named {path}")));
            }
        }
        is_tree(&files)?;
        let folder = folder(&files, &name)?;
        let machines = machines(file_name, bytes, limits)?;
        let wheel = Wheel { name, machines, folder, files, limits: *limits };
        wheel.compare_record()?;
        Ok(wheel)
    }

    /// Its files, by path: relative, with `/` between folders, and none of them `..`.
    pub fn files(&self) -> impl Iterator<Item = (&str, &WheelFile<'a>)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// It is not in the wheel, or has more bytes than the limits allow.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, WheelError> {
        self.first(path, u64::MAX)
    }

    fn first(&self, path: &str, most: u64) -> Result<Vec<u8>, WheelError> {
        let file =
            self.files.get(path).ok_or_else(|| WheelError::new(format!("{path}: not in the wheel")))?;
        // What was read once is read again, and no more.
        let meter = Meter::new(&self.limits, file.data);
        let mut bytes = Vec::new();
        let mut stream = decoded(file.codec, file.data, &meter).take(file.size.min(most));
        stream
            .read_to_end(&mut bytes)
            .map_err(|error| WheelError::new(format!("{path}: {}", meter.reason(&error))))?;
        Ok(bytes)
    }

    /// The first bytes of a file, at most [`crate::BLOCK`].
    ///
    /// # Errors
    /// As [`Wheel::read`].
    pub fn head(&self, path: &str) -> Result<Vec<u8>, WheelError> {
        self.first(path, BLOCK as u64)
    }

    /// Whether a file is of the kind whose bytes depend on other files': `RECORD`.
    pub fn is_derived(&self, path: &str) -> bool {
        self.in_folder(path).is_some_and(is_unrecorded)
    }

    /// Whether its `RECORD` is signed, which a wheel that is written anew is not.
    pub fn is_signed(&self) -> bool {
        self.files
            .keys()
            .any(|path| self.in_folder(path).is_some_and(|file| file != "RECORD" && is_unrecorded(file)))
    }

    /// Whether it is a variant, by its name or by its metadata.
    pub fn is_variant(&self) -> bool {
        self.name.label.is_some() || self.files.contains_key(&self.in_metadata("variant.json"))
    }

    /// The wheel with this `variant.json`, or without one, and with a new `RECORD`.
    ///
    /// # Errors
    /// It is too large for a zip file without zip64.
    pub fn with_variant(&self, variant: Option<&[u8]>, time: ZipTime) -> Result<Vec<u8>, WheelError> {
        let (variant_path, record_path) = (self.in_metadata("variant.json"), self.in_metadata("RECORD"));
        let kept = self.files.iter().filter(|(path, _)| **path != variant_path && !self.is_derived(path));
        let mut lines: Vec<String> = kept.clone().map(|(path, file)| line(path, &file.sum)).collect();
        lines.extend(variant.map(|variant| line(&variant_path, &Sum::of(variant).to_string())));
        lines.sort();
        lines.push(line(&record_path, ","));
        let record = lines.concat().into_bytes();

        let record_data = deflated(&record)?;
        let variant_data = variant.map(deflated).transpose()?;
        let mut members: Vec<Stored<'_>> = kept.map(|(path, file)| file.stored(path)).collect();
        if let (Some(variant), Some(data)) = (variant, &variant_data) {
            members.push(new_file(&variant_path, variant, data));
        }
        // The metadata come last, as the format recommends.
        members.sort_by_key(|member| (self.in_folder(member.name).is_some(), member.name));
        members.push(new_file(&record_path, &record, &record_data));
        compose(&members, time)
    }

    fn in_metadata(&self, file: &str) -> String {
        format!("{}/{file}", self.folder)
    }

    /// A path within the folder of the metadata.
    fn in_folder<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(self.folder.as_str())?.strip_prefix('/')
    }

    /// Compares the files with the lines of `RECORD`: each has one, with the hash that it has.
    fn compare_record(&self) -> Result<(), WheelError> {
        let record = self.read(&self.in_metadata("RECORD"))?;
        let mut found: BTreeSet<&str> = BTreeSet::new();
        for (path, hash, size) in recorded(&record) {
            let path =
                String::from_utf8(path).map_err(|_| WheelError::new("RECORD: a path that is not UTF-8"))?;
            let complain =
                |what: &str| WheelError::new(format!("RECORD: {}: {what}", shown(path.as_bytes())));
            let Some((own, file)) = self.files.get_key_value(&path) else {
                return Err(complain("there is no such file"));
            };
            found.insert(own);
            if self.is_derived(own) {
                continue;
            }
            let sum = [hash, b",", size].concat();
            match hash.split(|byte| *byte == b'=').next() {
                Some(b"sha256") if sum == file.sum.as_bytes() => {}
                Some(b"sha256") => return Err(complain("the file has another hash or size")),
                Some(b"sha384" | b"sha512") if size == file.size.to_string().as_bytes() => {}
                _ => return Err(complain("expected the file's SHA-256 and size")),
            }
        }
        let missing = self.files.keys().find(|path| !found.contains(path.as_str()) && !self.is_derived(path));
        match missing {
            Some(path) => Err(WheelError::new(format!("RECORD has no line for {}", shown(path.as_bytes())))),
            None => Ok(()),
        }
    }
}

impl<'a> WheelFile<'a> {
    /// Reads a file once; its size and checksum are compared.
    fn read(entry: &Entry<'a>, meter: &Rc<Meter>) -> Result<WheelFile<'a>, String> {
        let codec = match entry.method {
            0 => None,
            8 => Some(Codec::Deflate),
            other => return Err(format!("compressed by method {other}, which not every installer reads")),
        };
        if entry.flags & ENCRYPTED != 0 {
            return Err("encrypted".to_owned());
        }
        let most = meter.limits.member_bytes;
        let size = entry.size.value;
        if size > most {
            return Err(format!("{size} bytes, where at most {most} are read"));
        }
        let mut stream = decoded(codec, entry.data, meter).take(size.saturating_add(1));
        let (mut crc, mut hash, mut read) = (Crc::new(), Sum::begin(), 0_u64);
        let mut block = vec![0; 1 << 16];
        loop {
            let length = stream.read(&mut block).map_err(|error| meter.reason(&error))?;
            let Some(bytes) = block.get(..length).filter(|bytes| !bytes.is_empty()) else { break };
            crc.update(bytes);
            hash.update(bytes);
            read += length as u64;
        }
        if read != size || crc.sum() != entry.crc {
            return Err("zip: not of the size and the checksum that the directory states".to_owned());
        }
        Ok(WheelFile {
            is_executable: entry.is_executable,
            codec,
            crc: entry.crc,
            size,
            data: entry.data,
            sum: hash.finish().to_string(),
        })
    }

    /// Whether another file has the same bytes.
    pub fn has_same_bytes(&self, other: &WheelFile<'_>) -> bool {
        self.sum == other.sum
    }

    fn stored<'m>(&'m self, name: &'m str) -> Stored<'m> {
        Stored {
            name,
            is_executable: self.is_executable,
            method: if self.codec.is_some() { 8 } else { 0 },
            crc: self.crc,
            size: self.size,
            data: self.data,
        }
    }
}

/// A member's name as a path that is safe to unpack.
fn path_of(entry: &Entry<'_>) -> Result<String, WheelError> {
    let refused = |what: &str| WheelError::new(format!("zip: {}: {what}", shown(entry.name)));
    if entry.is_symlink {
        return Err(refused("a link, which wheels do not have"));
    }
    let Ok(path) = std::str::from_utf8(entry.name) else { return Err(refused("a name that is not UTF-8")) };
    let is_folder_or_file = |part: &str| !matches!(part, "" | "." | "..");
    let is_plain = path.split('/').all(is_folder_or_file) && !path.contains(['\\', ':', '\0']);
    if !is_plain || path.chars().any(char::is_control) {
        return Err(refused("a name that is not a plain relative path"));
    }
    Ok(path.to_owned())
}

/// Sees that no file is a folder of another.
fn is_tree(files: &BTreeMap<String, WheelFile<'_>>) -> Result<(), WheelError> {
    for path in files.keys() {
        let mut above = path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            if files.contains_key(folder) {
                return Err(WheelError::new(format!("zip: {folder}: a file, and a folder of {path}")));
            }
            above = folder;
        }
    }
    Ok(())
}

/// The folder of the metadata: the only one of its kind, for the project and the version of the file name.
fn folder(files: &BTreeMap<String, WheelFile<'_>>, name: &WheelName) -> Result<String, WheelError> {
    let tops = files.keys().filter_map(|path| path.split_once('/')).map(|(top, _)| top);
    let folders: BTreeSet<&str> = tops.filter(|top| top.ends_with(".dist-info")).collect();
    let folders: Vec<&str> = folders.into_iter().collect();
    let [folder] = folders.as_slice() else {
        return Err(WheelError::new(format!("expected one folder *.dist-info, found {}", folders.len())));
    };
    let stem = folder.trim_end_matches(".dist-info");
    let is_own = stem.split_once('-').is_some_and(|(project, version)| {
        normalised(project) == normalised(&name.project) && normalised(version) == normalised(&name.version)
    });
    if !is_own {
        return Err(WheelError::new(format!("{folder} is not of {}-{}", name.project, name.version)));
    }
    for file in ["WHEEL", "METADATA", "RECORD"] {
        if !files.contains_key(&format!("{folder}/{file}")) {
            return Err(WheelError::new(format!("{folder}/{file} is missing")));
        }
    }
    Ok((*folder).to_owned())
}

/// For which machines the wheel says that it is, in its name and in `WHEEL`.
fn machines(file_name: &str, bytes: &[u8], limits: &Limits) -> Result<Machines, WheelError> {
    let claims = claims(file_name, bytes, limits);
    let Some(claim) = claims.first() else { return Ok(Machines::Unknown) };
    let (_, machines) = claim.settled().map_err(|error| WheelError::new(error.to_string()))?;
    Ok(machines.clone())
}

/// A line of `RECORD`.
fn line(path: &str, sum: &str) -> String {
    match path.contains([',', '"']) {
        true => format!("\"{}\",{sum}\n", path.replace('"', "\"\"")),
        false => format!("{path},{sum}\n"),
    }
}

fn deflated(bytes: &[u8]) -> Result<Vec<u8>, WheelError> {
    encoded(Coding::Deflate, &mut &*bytes, u64::MAX).map_err(|error| WheelError::new(error.to_string()))
}

fn new_file<'m>(name: &'m str, bytes: &[u8], data: &'m [u8]) -> Stored<'m> {
    let mut crc = Crc::new();
    crc.update(bytes);
    Stored { name, is_executable: false, method: 8, crc: crc.sum(), size: bytes.len() as u64, data }
}

#[cfg(test)]
mod tests;

//! An archive in memory, with the sizes and hashes that its indices state of one another.

use deburr_archive::Fetch;
use flate2::Compression;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};

/// Files by path; what is asked for is recorded.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) asked: RefCell<Vec<String>>,
    pub(crate) headers: RefCell<Vec<String>>,
    /// A path that cannot be read, and why.
    pub(crate) failing: Option<(String, ErrorKind)>,
}

impl Held {
    pub(crate) fn new<const N: usize>(files: [(&str, &[u8]); N]) -> Held {
        let files = files.map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).into();
        Held { files, ..Held::default() }
    }
}

impl Fetch for Held {
    fn read(&self, path: &str, headers: &[(&str, &str)], _: u64) -> io::Result<Box<dyn Read + '_>> {
        self.asked.borrow_mut().push(path.to_owned());
        self.headers.borrow_mut().extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        match &self.failing {
            Some((failing, kind)) if failing == path => Err(io::Error::new(*kind, "it fails")),
            _ => match self.files.get(path) {
                Some(bytes) => Ok(Box::new(Slowly(bytes))),
                None => Err(ErrorKind::NotFound.into()),
            },
        }
    }
}

/// A stream that gives little at a time, and is interrupted.
struct Slowly<'b>(&'b [u8]);

impl Read for Slowly<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.0.len() % 5 == 4 {
            let (first, rest) = self.0.split_at(1);
            into[0] = first[0];
            self.0 = rest;
            return Ok(1);
        }
        let few = into.len().min(1009);
        self.0.read(&mut into[..few])
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(0)).expect("options");
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A release of the suite `s` with these indices, by their paths below it; each exists.
pub(crate) fn debian(architectures: &str, components: &str, indices: &[(&str, &[u8])]) -> Held {
    let mut held = Held::default();
    let mut release =
        format!("Suite: s\nArchitectures: {architectures}\nComponents: {components}\nSHA256:\n");
    for (path, bytes) in indices {
        release += &format!(" {} {:>8} {path}\n", sha256(bytes), bytes.len());
        held.files.insert(format!("dists/s/{path}"), bytes.to_vec());
    }
    held.files.insert("dists/s/Release".to_owned(), release.into_bytes());
    held
}

/// A stanza of a package whose file is `pool/PACKAGE_VERSION_ARCHITECTURE.deb`.
pub(crate) fn stanza(package: &str, version: &str, architecture: &str) -> String {
    let digest = sha256(format!("{package} {version} {architecture}").as_bytes());
    format!(
        "Package: {package}\nVersion: {version}\nArchitecture: {architecture}\n\
         Filename: pool/{package}_{version}_{architecture}.deb\nSize: 1000\nSHA256: {digest}\n\n"
    )
}

/// A repository with that `primary.xml`, under a name that says how it is compressed.
pub(crate) fn rpm(name: &str, bytes: &[u8]) -> Held {
    let repomd = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<repomd xmlns=\"http://linux.duke.edu/metadata/repo\">\n\
         <revision>1</revision><data type=\"other\"><location href=\"repodata/other.xml\"/></data>\n\
         <data type=\"primary\"><checksum type=\"sha256\">{}</checksum><location href=\"repodata/{name}\"/>\
         <size>{}</size></data></repomd>\n",
        sha256(bytes),
        bytes.len()
    );
    let primary = format!("repodata/{name}");
    Held::new([("repodata/repomd.xml", repomd.as_bytes()), (&primary, bytes)])
}

/// A `primary.xml` of these elements.
pub(crate) fn primary(packages: &str) -> String {
    format!("<?xml version=\"1.0\"?><metadata xmlns:rpm=\"r\" packages=\"1\">{packages}</metadata>")
}

/// An element `package`.
pub(crate) fn package(
    name: &str,
    (epoch, version, release): (&str, &str, &str),
    architecture: &str,
) -> String {
    format!(
        "<package type=\"rpm\"><name>{name}</name><arch>{architecture}</arch>\
         <version epoch=\"{epoch}\" ver=\"{version}\" rel=\"{release}\"/>\
         <checksum type=\"sha256\" pkgid=\"YES\">{}</checksum><size package=\"7\" installed=\"9\"/>\
         <location href=\"p/{name}-{epoch}-{version}-{release}.{architecture}.rpm\"/>\
         <format><rpm:requires><rpm:entry name=\"other\"/></rpm:requires><name>not this</name></format></package>",
        sha256(format!("{name} {epoch} {version} {release} {architecture}").as_bytes())
    )
}

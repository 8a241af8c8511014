//! What is asked of an archive, and what it answers.

/// A package in an archive, as an index states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is: a path below the archive's root, or a URL (`http://`, `https://`) where the index names one. A path has no empty
    /// part, no `.` and no `..`, and nothing in it is percent-encoded.
    pub path: String,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Its SHA-256, 64 hexadecimal digits in lower case.
    pub sha256: Option<String>,
    /// Its name. A Python project's is normalised (PEP 503).
    pub package: String,
    /// Its version as the archive's kind writes it, with Debian's and RPM's epoch where there is one.
    pub version: String,
    /// Its architecture in the archive's words: `arm64`, `aarch64`, `all`, `noarch`, `any`.
    pub architecture: String,
}

/// What is wanted of an archive. Lists that are empty want everything, where the archive can say what that is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Debian's suites. An archive does not list them.
    pub suites: Vec<String>,
    /// Debian's components.
    pub components: Vec<String>,
    /// Architectures: `arm64` and `aarch64` are one, as `amd64` and `x86_64` are. Where some are named, packages for all architectures
    /// are wanted only by their name (`all`, `noarch`), and pure wheels always only by theirs (`any`).
    pub architectures: Vec<String>,
    /// Names of packages. Python's simple index needs them: it is too large to be read whole.
    pub packages: Vec<String>,
    /// Whether all versions are wanted, or the newest one of each package and architecture.
    pub all_versions: bool,
}

/// What an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `dists/SUITE/Release`
    Debian,
    /// `repodata/repomd.xml`
    Rpm,
    /// `simple/NAME/`
    PyPi,
}

//! How much an index may hold, so that no archive takes all memory or all time.

/// Bytes that an index may unpack to. Debian's largest has 50 MiB.
pub(crate) const UNPACKED: u64 = 8 << 30;

/// Bytes of a line, a tag or a text.
pub(crate) const FIELD: u64 = 1 << 20;

/// Bytes of an index that is no list of packages: `Release`, `repomd.xml`, and the page of a Python project.
pub(crate) const PAGE: u64 = 64 << 20;

/// Bytes of an index as it lies in the archive, where nothing states how many they are.
pub(crate) const FETCHED: u64 = 1 << 30;

/// Bytes of names that are held, so that each package appears once and in its newest version.
pub(crate) const HELD: usize = 1 << 30;

/// Elements within elements. `primary.xml` has five.
pub(crate) const DEPTH: usize = 64;

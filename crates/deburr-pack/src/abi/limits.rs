//! Limits of the comparison of interfaces. A library may come from anywhere, and so may its debug information.

/// Bytes of one decompressed section. A large web browser has 600 MB of `.debug_info`.
pub(super) const MAX_SECTION_BYTES: u64 = 1 << 30;
/// Entries of debug information that are read to compare types, after both files were read once: some seconds.
pub(super) const MAX_ENTRIES_READ: u64 = 60_000_000;
/// Typedefs and qualifiers around one type, or origins of one function. glibc's and Boost's longest chains have 12.
pub(super) const MAX_CHAIN: usize = 64;
/// Structures within structures, down to the vector that a parameter may be.
pub(super) const MAX_WRAPPERS: usize = 16;
/// Definitions of one name in units of one name that each definition is compared with, before they count as different.
pub(super) const MAX_PARTNERS: usize = 32;
/// Differences, or reasons why nothing is known, that are kept of one library.
pub(super) const MAX_REASONS: usize = 16;

//! Addresses → source files and lines, from DWARF. Placeholder.

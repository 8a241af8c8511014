//! What links a file's code to its data, to its loader and to other files; read on demand, since only the analysis of
//! run-time checks needs it.
//!
//! In: the bytes of the ELF file that an [`Image`] was made from. Out: [`Linkage`]: the data, the pointers in it, what the
//! loader fills in, and what other files can call. Follows the gABI and the psABI supplements' relocations.

use super::Image;
use crate::address::{Extent, Svma};

/// A run of bytes that are loaded and not executable: a section, or without sections a segment.
#[derive(Debug, Clone)]
pub struct Data<'a> {
    /// Where it is.
    pub extent: Extent,
    /// Its bytes; empty for `.bss`, shorter than `extent` where zeros follow.
    pub bytes: &'a [u8],
    /// Whether the program may write it while it runs (a read-only section after relocation is not writable).
    pub is_writable: bool,
}

/// Eight bytes of data that hold an address of this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Where they are.
    pub at: Svma,
    /// What they hold, in code or in data.
    pub to: Svma,
}

/// A cell that the loader fills with the result of a resolver (`R_*_IRELATIVE`, or a relocation by an ifunc symbol).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resolved {
    /// The cell.
    pub at: Svma,
    /// The resolver.
    pub resolver: Svma,
}

/// A cell that the loader fills with the address of another file's symbol; a `COPY` relocation's target is the object
/// itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import<'a> {
    /// The cell, or for a copied object the object.
    pub at: Svma,
    /// The symbol, without its version.
    pub name: &'a str,
    /// Whether the loader copies the object to `at` instead of filling in its address.
    pub is_copy: bool,
}

/// A named object in data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object<'a> {
    /// Where it is.
    pub extent: Extent,
    /// The name as the file has it.
    pub name: &'a str,
}

/// What links code, data, loader and other files. Every list is sorted by its first field, without duplicates.
#[derive(Debug, Clone, Default)]
pub struct Linkage<'a> {
    /// The data, by address, without overlap.
    pub data: Vec<Data<'a>>,
    /// Addresses of this file that data holds, those of the GOT included.
    pub cells: Vec<Cell>,
    /// Cells that hold what a resolver returns.
    pub resolved: Vec<Resolved>,
    /// Cells that hold addresses of other files.
    pub imports: Vec<Import<'a>>,
    /// Functions that other files can call: global and weak symbols of `.dynsym` that are defined in code and not
    /// hidden; of relocatable objects those of `.symtab`. Resolvers (`STT_GNU_IFUNC`) are not among them.
    pub exports: Vec<Svma>,
    /// `STT_GNU_IFUNC` symbols of either table: the resolvers.
    pub resolvers: Vec<Svma>,
    /// Named objects in data (`STT_OBJECT`), of all symbol tables.
    pub objects: Vec<Object<'a>>,
}

impl<'a> Linkage<'a> {
    /// Reads it. What cannot be read is left out: the image's own parsing has reported it.
    pub fn parse(_bytes: &'a [u8], _image: &Image<'_>) -> Linkage<'a> {
        Linkage::default()
    }

    /// The cell at an address.
    pub fn cell(&self, at: Svma) -> Option<Svma> {
        let index = self.cells.binary_search_by_key(&at, |cell| cell.at).ok()?;
        self.cells.get(index).map(|cell| cell.to)
    }

    /// The other file's symbol whose address, or whose copy, lies at an address.
    pub fn import(&self, at: Svma) -> Option<&Import<'a>> {
        let index = self.imports.binary_search_by_key(&at, |import| import.at).ok()?;
        self.imports.get(index)
    }

    /// The run of data that holds an address.
    pub fn data_at(&self, svma: Svma) -> Option<&Data<'a>> {
        let after = self.data.partition_point(|data| data.extent.start <= svma);
        self.data.get(after.checked_sub(1)?).filter(|data| data.extent.contains(svma))
    }

    /// The named object that holds an address.
    pub fn object_at(&self, svma: Svma) -> Option<&Object<'a>> {
        let after = self.objects.partition_point(|object| object.extent.start <= svma);
        self.objects.get(after.checked_sub(1)?).filter(|object| object.extent.contains(svma))
    }
}

//! What links code, data, loader and other files: [`Linkage`] and what it is made of.

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
    /// Whether nothing ever writes it: what is read-only only after relocation may be written at start-up, as the
    /// dynamic linker writes what it learns of the CPU.
    pub is_constant: bool,
    /// Whether it is the global offset table, where each cell is by itself. Without sections it is unknown.
    pub is_offset_table: bool,
    /// Whether it is there for unwinders and for Go's run-time library: its offsets lead to every function. Without
    /// sections it is unknown.
    pub is_unwind: bool,
}

/// Eight bytes of data that hold an address of this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Where they are.
    pub at: Svma,
    /// What they hold, in code or in data.
    pub to: Svma,
}

/// What each thread's variables of the file begin as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadTemplate {
    /// Where the bytes are that are not zero.
    pub initial: Extent,
    /// How long it is, up to a multiple of its alignment.
    pub length: u64,
    /// What its address is a multiple of.
    pub alignment: u64,
}

/// A word that the loader fills in so that a thread's variable is found by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadWord {
    /// The word.
    pub at: Svma,
    /// What it is.
    pub kind: ThreadWordKind,
}

/// What such a word is (x86-64 psABI, "Relocation Types").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadWordKind {
    /// The file, by a number of the loader's.
    Module,
    /// How far from the start of the file's variables.
    Offset(u64),
    /// The first of two words of a descriptor of a variable, by where that is in the file's thread-local memory. A call of what the
    /// word holds, with its own address, returns the variable's distance from the thread's control block.
    Descriptor(u64),
    /// The same, as a distance from the thread's control block.
    FromBlock(u64),
    /// A variable of another file.
    Elsewhere,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object<'a> {
    /// Where it is.
    pub extent: Extent,
    /// The name as the file has it.
    pub name: &'a str,
}

/// What a field of an instruction refers to (relocatable objects only).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReferenceTarget<'a> {
    /// An address in this file, which is in data.
    Here(Svma),
    /// A symbol of another file, or one that the linker merges with those of other files (`.comm`).
    Elsewhere(&'a str),
}

/// A field of an instruction that the linker fills in with an address of data or of another file (relocatable objects
/// only). Direct calls and jumps are not among them, nor are addresses of this file's code:
/// [`Image::transfers`](crate::image::Image::transfers) and [`Image::addresses`](crate::image::Image::addresses) have
/// those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference<'a> {
    /// The relocated field: on AArch64 the instruction, on x86-64 a place inside one.
    pub at: Svma,
    /// What it refers to, with the addend applied: both halves of an AArch64 pair (`adrp`, `add` or `ldr`) have the
    /// whole address.
    pub to: ReferenceTarget<'a>,
    /// How far from the symbol of another file; 0 where `to` is [`ReferenceTarget::Here`], which has it.
    pub offset: i64,
    /// Whether the field is the distance from the end of the instruction, taken to be the end of the field. Where an
    /// immediate follows the field (`movl $1, x(%rip)`), the address is as many bytes further on as the immediate is
    /// long.
    pub is_relative: bool,
    /// Whether the instruction reads a slot of the global offset table that holds the address, instead of the bytes
    /// there.
    pub is_slot: bool,
}

/// A function that other files can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Export<'a> {
    /// Where it begins.
    pub at: Svma,
    /// The name as the file has it.
    pub name: &'a str,
    /// Whether its binding is weak or unique: another file may define it as well.
    pub is_weak: bool,
    /// The version that the file defines it in.
    pub version: Option<&'a str>,
}

/// What links code, data, loader and other files. Every list is sorted by its first field, without duplicates.
#[derive(Debug, Clone, Default)]
pub struct Linkage<'a> {
    /// Whether the file is loaded where it says (`ET_EXEC`), so that its code and data may hold whole addresses.
    pub is_fixed: bool,
    /// The data, by address, without overlap.
    pub data: Vec<Data<'a>>,
    /// Addresses of this file that data holds, those of the GOT included. In a file that is loaded where it says
    /// (`ET_EXEC`) nothing marks them. There they are the aligned words that hold the address of a function known by
    /// symbols or frames, or an aligned address in data.
    pub cells: Vec<Cell>,
    /// What a thread's variables begin as, if there are any.
    pub thread_template: Option<ThreadTemplate>,
    /// Words by which they are found.
    pub thread_words: Vec<ThreadWord>,
    /// Cells that hold what a resolver returns.
    pub resolved: Vec<Resolved>,
    /// Cells that hold addresses of other files.
    pub imports: Vec<Import<'a>>,
    /// Slots of the global offset table, without those of the procedure linkage table, that the loader fills with what it finds by the
    /// name of a function of this file: it takes another file's, if that one comes first.
    pub own_slots: Vec<Import<'a>>,
    /// Functions that other files can call: global and weak symbols of `.dynsym` that are defined in code and not
    /// hidden; of relocatable objects those of `.symtab`, hidden or not. Resolvers (`STT_GNU_IFUNC`) are not among
    /// them.
    pub exports: Vec<Svma>,
    /// The same by name, of which one address can have several.
    pub named_exports: Vec<Export<'a>>,
    /// Named objects in data that other files can refer to: global and weak symbols of `.dynsym` that are not hidden.
    pub exported_objects: Vec<Object<'a>>,
    /// `STT_GNU_IFUNC` symbols of any table: the resolvers.
    pub resolvers: Vec<Svma>,
    /// Named objects in data (`STT_OBJECT`) whose size is stated, of all symbol tables; each name of one object.
    pub objects: Vec<Object<'a>>,
    /// What fields of instructions refer to (relocatable objects only).
    pub references: Vec<Reference<'a>>,
}

/// Symbol types and bindings: `STT_OBJECT`, `STT_FUNC`, `STT_TLS`, `STT_GNU_IFUNC`.
pub(super) const OBJECT: u8 = 1;
pub(super) const FUNC: u8 = 2;

pub(super) const TLS: u8 = 6;

pub(in crate::image) const IFUNC: u8 = 10;

impl<'a> Linkage<'a> {
    /// The references whose field is in an instruction.
    pub fn references_in(&self, instruction: Extent) -> &[Reference<'a>] {
        let first = self.references.partition_point(|reference| reference.at < instruction.start);
        let rest = self.references.get(first..).unwrap_or(&[]);
        let count = rest.partition_point(|reference| reference.at < instruction.end);
        rest.get(..count).unwrap_or(&[])
    }

    /// The cell at an address.
    pub fn cell(&self, at: Svma) -> Option<Svma> {
        let index = self.cells.binary_search_by_key(&at, |cell| cell.at).ok()?;
        self.cells.get(index).map(|cell| cell.to)
    }

    /// The cells that begin in an extent.
    pub(crate) fn cells_in(&self, extent: Extent) -> &[Cell] {
        let first = self.cells.partition_point(|cell| cell.at < extent.start);
        let end = self.cells.partition_point(|cell| cell.at < extent.end);
        self.cells.get(first..end).unwrap_or_default()
    }

    /// The other file's symbol whose address, or whose copy, is at an address.
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

//! What links a file's code to its data, to its loader and to other files; read on demand, since only the analysis of
//! run-time checks needs it.
//!
//! In: the bytes of the ELF file that an [`Image`] was made from. Out: [`Linkage`]: the data, the pointers in it, what
//! the loader fills in, and what other files can call. Nothing here is larger than the file is long.
//! Follows the gABI, "Symbol Table" and "Program Loading", and the psABI supplements' relocations.

mod data;
mod described;
mod exports;
mod loader;
mod model;
mod relocatable;

pub use described::{Described, Describer, described};
pub use model::{
    Cell, Data, Export, Import, Linkage, Object, Reference, ReferenceTarget, Resolved, ThreadTemplate,
    ThreadWord, ThreadWordKind,
};

pub(super) use model::IFUNC;
use model::OBJECT;

use super::{Image, Kind, SymbolKind};
use crate::address::{Extent, Svma};
use crate::image::elf::{Elf, SHT_SYMTAB};
use crate::image::parse::companion::companion;
use crate::image::parse::symbols::SymbolTable;
use crate::image::sorted::sort_by_address_and_self;
use std::collections::HashSet;

/// The data of a file alone, by address, without overlap.
pub fn data<'a>(image: &Image<'a>) -> Vec<Data<'a>> {
    Elf::parse(image.bytes).map_or_else(|_| Vec::new(), |elf| data::read(&elf, image))
}

impl<'a> Linkage<'a> {
    /// Reads it. The separate debug file, where there is one, names objects. What cannot be read is left out: the
    /// image's own parsing has reported it.
    pub fn parse(image: &Image<'a>) -> Linkage<'a> {
        let Ok(elf) = Elf::parse(image.bytes) else { return Linkage::default() };
        let data = data::read(&elf, image);
        let empty = || Linkage { is_fixed: elf.is_fixed, data: data.clone(), ..Linkage::default() };
        // The two read different parts of the file, and fill different lists.
        let (linked, named) = rayon::join(
            || {
                let mut linkage = empty();
                if elf.kind == Kind::Relocatable {
                    relocatable::read(&elf, &mut linkage);
                } else {
                    loader::read(&elf, image, &mut linkage);
                }
                linkage.sort();
                linkage
            },
            || {
                let mut linkage = empty();
                linkage.add_named(&elf, image);
                linkage.sort();
                linkage
            },
        );
        Linkage {
            cells: linked.cells,
            resolved: linked.resolved,
            imports: linked.imports,
            own_slots: linked.own_slots,
            references: linked.references,
            thread_template: linked.thread_template,
            thread_words: linked.thread_words,
            ..named
        }
    }

    /// Adds what symbols name.
    fn add_named(&mut self, elf: &Elf<'a>, image: &Image<'a>) {
        self.named_exports = exports::read(elf, image);
        let resolvers = image.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::IfuncResolver);
        self.resolvers = resolvers.map(|symbol| symbol.svma).collect();
        if let Some(table) = SymbolTable::of_kind(elf, SHT_SYMTAB) {
            self.add_objects(elf, &table, false);
        }
        if let Some(table) = SymbolTable::dynamic(elf) {
            self.add_objects(elf, &table, true);
        }
        // The linker of a debug file lays the sections of an object out anew.
        let debug_file = image.debug_file.filter(|_| elf.kind != Kind::Relocatable);
        let debug_elf = debug_file.and_then(|file| companion(elf, image.build_id.as_deref(), file).ok());
        if let Some(debug_elf) = debug_elf
            && let Some(table) = SymbolTable::of_kind(&debug_elf, SHT_SYMTAB)
        {
            self.add_objects(&debug_elf, &table, false);
        }
    }

    /// Takes some names for those of functions that no other file calls. One of them, if the file exports any.
    pub fn hide<'n>(&mut self, names: &HashSet<&'n str>) -> Option<&'n str> {
        let hidden = self.named_exports.iter().find_map(|export| names.get(export.name).copied())?;
        self.named_exports.retain(|export| !names.contains(export.name));
        self.sort();
        Some(hidden)
    }

    /// Adds the named objects of a symbol table. `is_dynamic`: other files can refer to those that it exports.
    fn add_objects(&mut self, elf: &Elf<'a>, table: &SymbolTable<'a>, is_dynamic: bool) {
        self.objects.reserve(table.count());
        for (index, symbol) in table.iter_named(|symbol| symbol.kind() == OBJECT && symbol.size > 0) {
            let Some(svma) = table.svma(elf, &symbol, index).map(Svma) else { continue };
            if self.data_at(svma).is_none() {
                continue;
            }
            let object = Object { extent: Extent::sized(svma, symbol.size), name: table.text(&symbol) };
            if is_dynamic && symbol.is_global() && !symbol.is_hidden() {
                self.exported_objects.push(object);
            }
            if !object.name.is_empty() {
                self.objects.push(object);
            }
        }
    }

    fn sort(&mut self) {
        self.resolved.sort_unstable();
        self.resolved.dedup_by_key(|resolved| resolved.at);
        for imports in [&mut self.imports, &mut self.own_slots] {
            imports.sort_by_key(|import| import.at);
            imports.dedup_by_key(|import| import.at);
        }
        // Stable, because it is quick on the few sorted runs that linkers write.
        self.cells.sort();
        self.cells.dedup_by_key(|cell| cell.at);
        self.resolvers.sort_unstable();
        self.resolvers.dedup();
        for objects in [&mut self.objects, &mut self.exported_objects] {
            sort_by_address_and_self(objects, |object| object.extent.start);
            objects.dedup();
        }
        sort_by_address_and_self(&mut self.named_exports, |export| export.at);
        self.named_exports.dedup();
        self.exports = self.named_exports.iter().map(|export| export.at).collect();
        self.exports.dedup();
        self.thread_words.sort_unstable();
        self.thread_words.dedup_by_key(|word| word.at);
        self.references.sort_unstable();
        self.references.dedup();
    }
}

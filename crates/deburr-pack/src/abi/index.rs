//! One file's debug information → where the types of its exported names and of its units are (DWARF 5, chapters 2, 3 and 5).
//!
//! In: the sections of a file and the names that it exports. Out: an [`Index`]: the entries of exported functions and objects, the
//! definitions of named types, and the names of types that are only declared. One pass over all entries; references are followed
//! later, and only those that the comparison needs.

use super::symbols::{ExportKind, Exports};
use gimli::{
    AbbreviationsCacheStrategy, AttributeValue, DebuggingInformationEntry, DwLang, DwTag, Dwarf, EndianSlice,
    LittleEndian, Unit, UnitOffset, UnitSectionOffset, UnitType, constants as dw,
};
use std::collections::{HashMap, HashSet};

pub(super) type Bytes<'a> = EndianSlice<'a, LittleEndian>;
pub(super) type Die<'a> = DebuggingInformationEntry<Bytes<'a>>;

/// An entry: its unit, and its offset there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct At {
    pub(super) unit: u32,
    pub(super) offset: u32,
}

/// The names of scopes and types with what encloses them, numbered alike for both files. 0 is the outermost scope.
#[derive(Default)]
pub(super) struct Names<'a> {
    ids: HashMap<(u32, &'a [u8], bool), u32>,
    parts: Vec<(u32, &'a [u8])>,
}

impl<'a> Names<'a> {
    /// The number of a name in a scope. Typedefs have a space of their own, as in C.
    fn id(&mut self, scope: u32, name: &'a [u8], is_typedef: bool) -> u32 {
        let next = u32::try_from(self.parts.len() + 1).unwrap_or(u32::MAX);
        let id = *self.ids.entry((scope, name, is_typedef)).or_insert(next);
        if id == next {
            self.parts.push((scope, name));
        }
        id
    }

    fn part(&self, id: u32) -> Option<(u32, &'a [u8])> {
        self.parts.get(usize::try_from(id).ok()?.checked_sub(1)?).copied()
    }

    /// The whole name, for the reader.
    pub(super) fn text(&self, id: u32) -> String {
        let (mut parts, mut at) = (Vec::new(), id);
        while let Some((scope, name)) = self.part(at) {
            parts.push(if name.is_empty() { "(anonymous)".into() } else { String::from_utf8_lossy(name) });
            at = scope;
        }
        parts.reverse();
        parts.join("::")
    }

    /// Whether it is a name of the C or C++ library's own: their files are not built by level. Such names are in `std`, or begin as
    /// no others may (C++, [reserved.names]).
    pub(super) fn is_of_the_system(&self, id: u32) -> bool {
        let (mut outermost, mut at) = (&b""[..], id);
        while let Some((scope, name)) = self.part(at) {
            (outermost, at) = (name, scope);
        }
        at == 0 && (outermost == b"std" || outermost.starts_with(b"__") || outermost.starts_with(b"_IO_"))
    }
}

/// A unit, and what is to be known of it as a whole.
pub(super) struct IndexedUnit<'a> {
    pub(super) unit: Unit<Bytes<'a>>,
    /// Whether a type that is only declared was never complete: so it is in C. Compilers of C++ leave out the definition of a
    /// class that another unit is expected to have.
    pub(super) is_c: bool,
    /// Whether it has types: `-g1` gives functions without any.
    pub(super) has_types: bool,
    /// Whether the compiler does not say which alignment a program has asked for.
    pub(super) is_without_alignment: bool,
}

/// What is where in a file's debug information.
pub(super) struct Index<'a> {
    pub(super) dwarf: Dwarf<Bytes<'a>>,
    pub(super) units: Vec<IndexedUnit<'a>>,
    /// Where the units of `.debug_info` begin, in order.
    begins: Vec<(usize, u32)>,
    functions: HashMap<&'a [u8], Vec<At>>,
    functions_at: HashMap<u64, Vec<At>>,
    objects: HashMap<&'a [u8], Vec<At>>,
    objects_at: HashMap<u64, Vec<At>>,
    /// Definitions of named types outside of functions, each with its unit's source file, by their names.
    pub(super) definitions: HashMap<u32, Vec<(&'a [u8], At)>>,
    /// Names of types that are declared here.
    pub(super) declared: HashMap<At, u32>,
    signatures: HashMap<u64, At>,
    /// Whether units have their types in other files (`-gsplit-dwarf`).
    pub(super) is_split: bool,
}

/// Why debug information cannot be read.
pub(super) fn damaged(error: gimli::Error) -> String {
    format!("its debug information is damaged: {error}")
}

const ASSEMBLERS: [DwLang; 3] =
    [dw::DW_LANG_Mips_Assembler, dw::DW_LANG_SUN_Assembler, dw::DW_LANG_ALTIUM_Assembler];
const C: [DwLang; 5] = [dw::DW_LANG_C89, dw::DW_LANG_C, dw::DW_LANG_C99, dw::DW_LANG_C11, dw::DW_LANG_C17];

/// The names and addresses of what is exported.
struct Wanted<'a> {
    names: HashSet<&'a [u8]>,
    addresses: HashSet<u64>,
}

impl<'a> Index<'a> {
    /// Reads all units.
    ///
    /// # Errors
    /// What is wrong with the debug information.
    pub(super) fn of(
        mut dwarf: Dwarf<Bytes<'a>>,
        exports: &Exports<'a>,
        names: &mut Names<'a>,
    ) -> Result<Index<'a>, String> {
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Some(header) = units.next().map_err(damaged)? {
            headers.push(header);
        }
        let mut units = dwarf.type_units();
        while let Some(header) = units.next().map_err(damaged)? {
            headers.push(header);
        }
        let wanted = Wanted {
            names: exports.keys().map(|(name, _)| *name).collect(),
            addresses: exports.values().map(|export| export.address).collect(),
        };
        let mut index = Index {
            dwarf,
            units: Vec::new(),
            begins: Vec::new(),
            functions: HashMap::new(),
            functions_at: HashMap::new(),
            objects: HashMap::new(),
            objects_at: HashMap::new(),
            definitions: HashMap::new(),
            declared: HashMap::new(),
            signatures: HashMap::new(),
            is_split: false,
        };
        for header in headers {
            let number = u32::try_from(index.units.len()).map_err(|_| "it has too many units".to_owned())?;
            if let UnitType::Type { type_signature, type_offset } = header.type_() {
                let at = At { unit: number, offset: offset_of(type_offset)? };
                index.signatures.insert(type_signature.0, at);
            }
            if let Some(offset) = header.debug_info_offset() {
                index.begins.push((offset.0, number));
            }
            let unit = index.dwarf.unit(header).map_err(damaged)?;
            let unit = index.read(unit, number, &wanted, names)?;
            index.units.push(unit);
        }
        Ok(index)
    }

    /// Reads one unit.
    fn read(
        &mut self,
        unit: Unit<Bytes<'a>>,
        number: u32,
        wanted: &Wanted<'a>,
        names: &mut Names<'a>,
    ) -> Result<IndexedUnit<'a>, String> {
        let root = unit.entry(unit.header.root_offset()).map_err(damaged)?;
        let language = match root.attr_value(dw::DW_AT_language) {
            Some(AttributeValue::Language(language)) => Some(language),
            _ => None,
        };
        let is_skeleton = unit.dwo_id.is_some() || unit.dwo_name().is_ok_and(|name| name.is_some());
        self.is_split |= is_skeleton;
        let producer = root.attr_value(dw::DW_AT_producer);
        let producer = producer.and_then(|value| self.dwarf.attr_string(&unit, value).ok());
        let producer = producer.map(|text| text.slice()).unwrap_or_default();
        let file = self.text(&unit, &root, dw::DW_AT_name).unwrap_or_default();
        let file = file.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_assembler = language.is_some_and(|language| ASSEMBLERS.contains(&language));
        let mut has_types = false;
        // The scopes around an entry: their depth, their name, and whether they are in a function.
        let mut scopes: Vec<(isize, u32, bool)> = Vec::new();
        // An enumeration without a name goes by its first value.
        let mut unnamed: Option<(At, u32)> = None;
        let mut die = Die::null();
        let mut entries = unit.entries_raw(None).map_err(damaged)?;
        while !entries.is_empty() {
            if !entries.read_entry(&mut die).map_err(damaged)? {
                continue;
            }
            while scopes.last().is_some_and(|scope| scope.0 >= die.depth()) {
                scopes.pop();
            }
            let (scope, is_local) = scopes.last().map_or((0, false), |scope| (scope.1, scope.2));
            let at = At { unit: number, offset: offset_of(die.offset())? };
            let is_declaration = is_set(&die, dw::DW_AT_declaration);
            has_types |= is_type(die.tag());
            match die.tag() {
                dw::DW_TAG_subprogram => {
                    if !is_declaration && !is_assembler {
                        self.take(&unit, &die, at, wanted, true);
                    }
                    scopes.push((die.depth(), scope, true));
                }
                dw::DW_TAG_variable if !is_declaration => self.take(&unit, &die, at, wanted, false),
                dw::DW_TAG_namespace => {
                    let name = self.text(&unit, &die, dw::DW_AT_name).unwrap_or_default();
                    scopes.push((die.depth(), names.id(scope, name, false), is_local));
                }
                dw::DW_TAG_structure_type
                | dw::DW_TAG_class_type
                | dw::DW_TAG_union_type
                | dw::DW_TAG_interface_type
                | dw::DW_TAG_enumeration_type
                | dw::DW_TAG_typedef => {
                    let name = self.text(&unit, &die, dw::DW_AT_name);
                    let id = names.id(scope, name.unwrap_or_default(), die.tag() == dw::DW_TAG_typedef);
                    if is_declaration {
                        self.declared.insert(at, id);
                    } else if name.is_some() && !is_local {
                        self.definitions.entry(id).or_default().push((file, at));
                    } else if die.tag() == dw::DW_TAG_enumeration_type && !is_local {
                        unnamed = Some((at, scope));
                    }
                    scopes.push((die.depth(), id, is_local));
                }
                dw::DW_TAG_enumerator => {
                    if let (Some((at, scope)), Some(name)) =
                        (unnamed.take(), self.text(&unit, &die, dw::DW_AT_name))
                    {
                        let id = names.id(scope, name, false);
                        self.definitions.entry(id).or_default().push((file, at));
                    }
                }
                _ => {}
            }
        }
        let is_strict = memchr::memmem::find(producer, b"-gstrict-dwarf").is_some();
        let is_without_alignment =
            (is_strict && unit.header.version() < 5) || gcc_of(producer).is_some_and(|version| version < 8);
        let is_c = language.is_some_and(|language| C.contains(&language));
        Ok(IndexedUnit { unit, is_c, has_types, is_without_alignment })
    }

    /// Notes a function or an object that may be one that is exported.
    fn take(
        &mut self,
        unit: &Unit<Bytes<'a>>,
        die: &Die<'a>,
        at: At,
        wanted: &Wanted<'a>,
        is_function: bool,
    ) {
        let own = |die: &Die<'a>| {
            self.text(unit, die, dw::DW_AT_linkage_name)
                .or_else(|| self.text(unit, die, dw::DW_AT_MIPS_linkage_name))
                .or_else(|| self.text(unit, die, dw::DW_AT_name).filter(|_| is_set(die, dw::DW_AT_external)))
        };
        let name = own(die).or_else(|| {
            // The definition of an object that was declared before.
            let AttributeValue::UnitRef(declaration) = die.attr_value(dw::DW_AT_specification)? else {
                return None;
            };
            own(&unit.entry(declaration).ok()?)
        });
        let address =
            if is_function { self.address(unit, die) } else { address_of_object(unit, &self.dwarf, die) };
        let (names, addresses) = match is_function {
            true => (&mut self.functions, &mut self.functions_at),
            false => (&mut self.objects, &mut self.objects_at),
        };
        if let Some(name) = name.and_then(|name| wanted.names.get(name)) {
            names.entry(name).or_default().push(at);
        }
        if let Some(address) = address.filter(|address| wanted.addresses.contains(address)) {
            addresses.entry(address).or_default().push(at);
        }
    }

    /// Where a function begins.
    fn address(&self, unit: &Unit<Bytes<'a>>, die: &Die<'a>) -> Option<u64> {
        if let Some(value) = die.attr_value(dw::DW_AT_low_pc) {
            return self.dwarf.attr_address(unit, value).ok()?;
        }
        let ranges = die.attr_value(dw::DW_AT_ranges)?;
        let first = self.dwarf.attr_ranges(unit, ranges).ok()??.next().ok()??;
        Some(first.begin)
    }

    /// The entry of an exported name: of its name at its address; of its name; of its address.
    pub(super) fn exported(&self, name: &[u8], kind: ExportKind, address: u64) -> Option<At> {
        let is_function = matches!(kind, ExportKind::Function | ExportKind::Resolved);
        let (names, addresses) = match is_function {
            true => (&self.functions, &self.functions_at),
            false => (&self.objects, &self.objects_at),
        };
        let by_name = names.get(name).map(Vec::as_slice).unwrap_or_default();
        // The address of what a resolver chooses is the resolver's; that of an object of threads is another one's.
        let has_address = matches!(kind, ExportKind::Function | ExportKind::Object);
        let by_address =
            addresses.get(&address).filter(|_| has_address).map(Vec::as_slice).unwrap_or_default();
        let of_both = by_name.iter().find(|at| by_address.contains(at));
        of_both.or(by_address.first().filter(|_| by_name.is_empty())).or(by_name.first()).copied()
    }

    /// The text of an attribute.
    fn text(&self, unit: &Unit<Bytes<'a>>, die: &Die<'a>, attribute: gimli::DwAt) -> Option<&'a [u8]> {
        let value = die.attr_value(attribute)?;
        Some(self.dwarf.attr_string(unit, value).ok()?.slice())
    }

    /// The name of an entry of a unit.
    pub(super) fn name(&self, at: At, die: &Die<'a>) -> Option<&'a [u8]> {
        self.text(&self.unit(at).ok()?.unit, die, dw::DW_AT_name)
    }

    /// The name of the file in which an entry is declared, without folders.
    pub(super) fn file(&self, at: At, die: &Die<'a>) -> Option<&'a [u8]> {
        let number = match die.attr_value(dw::DW_AT_decl_file)? {
            AttributeValue::FileIndex(number) => number,
            value => value.udata_value()?,
        };
        let unit = &self.unit(at).ok()?.unit;
        let path = unit.line_program.as_ref()?.header().file(number)?.path_name();
        let path = self.dwarf.attr_string(unit, path).ok()?.slice();
        path.rsplit(|byte| *byte == b'/').next()
    }

    /// The unit of an entry.
    pub(super) fn unit(&self, at: At) -> Result<&IndexedUnit<'a>, String> {
        let unit = usize::try_from(at.unit).ok().and_then(|unit| self.units.get(unit));
        unit.ok_or_else(|| "its debug information names a unit that is not there".to_owned())
    }

    /// What an attribute refers to; `None` where the entry has no such attribute.
    pub(super) fn reference(
        &self,
        at: At,
        die: &Die<'a>,
        attribute: gimli::DwAt,
    ) -> Result<Option<At>, String> {
        match die.attr_value(attribute) {
            None => Ok(None),
            Some(AttributeValue::UnitRef(offset)) => {
                Ok(Some(At { unit: at.unit, offset: offset_of(offset)? }))
            }
            Some(AttributeValue::DebugInfoRef(offset)) => {
                let after = self.begins.partition_point(|(begin, _)| *begin <= offset.0);
                let unit = after.checked_sub(1).and_then(|before| self.begins.get(before));
                let (_, unit) = unit.ok_or_else(|| "its debug information refers to no unit".to_owned())?;
                let header = &self.unit(At { unit: *unit, offset: 0 })?.unit.header;
                let offset = UnitSectionOffset(offset.0).to_unit_offset(header);
                let offset = offset.ok_or_else(|| "its debug information refers to no entry".to_owned())?;
                Ok(Some(At { unit: *unit, offset: offset_of(offset)? }))
            }
            Some(AttributeValue::DebugTypesRef(signature)) => match self.signatures.get(&signature.0) {
                Some(at) => Ok(Some(*at)),
                None => Err("a type of its is in another file (a type unit)".to_owned()),
            },
            Some(AttributeValue::DebugInfoRefSup(_)) => {
                Err("types of its are in a file that several share (dwz)".to_owned())
            }
            Some(_) => Err("its debug information has a reference of an unknown form".to_owned()),
        }
    }
}

/// The major version of GCC.
fn gcc_of(producer: &[u8]) -> Option<u32> {
    // `GNU C17 12.2.0 …`, `GNU C++14 7.5.0 …`, `GNU C11 7.5.0`
    let text = std::str::from_utf8(producer).ok()?.strip_prefix("GNU C")?;
    text.split(' ').nth(1)?.split('.').next()?.parse().ok()
}

/// Where an object is, if its location says so by an address.
fn address_of_object<'a>(unit: &Unit<Bytes<'a>>, dwarf: &Dwarf<Bytes<'a>>, die: &Die<'a>) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = die.attr_value(dw::DW_AT_location)? else { return None };
    let mut operations = expression.operations(unit.encoding());
    let address = match operations.next().ok()?? {
        gimli::Operation::Address { address } => address,
        gimli::Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(address)
}

pub(super) fn is_set(die: &Die<'_>, attribute: gimli::DwAt) -> bool {
    matches!(die.attr_value(attribute), Some(AttributeValue::Flag(true)))
}

fn offset_of(offset: UnitOffset) -> Result<u32, String> {
    u32::try_from(offset.0).map_err(|_| "a unit of its debug information has more than 4 GiB".to_owned())
}

fn is_type(tag: DwTag) -> bool {
    [
        dw::DW_TAG_base_type,
        dw::DW_TAG_pointer_type,
        dw::DW_TAG_structure_type,
        dw::DW_TAG_class_type,
        dw::DW_TAG_union_type,
        dw::DW_TAG_enumeration_type,
        dw::DW_TAG_typedef,
    ]
    .contains(&tag)
}

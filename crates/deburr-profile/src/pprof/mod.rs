//! pprof: a profile of Go's `runtime/pprof`, or of others that write `profile.proto`, with or without gzip.
//!
//! In: a file that can be read twice. Samples come before what they refer to; the first pass reads mappings, locations and strings,
//! the second one samples. Out: tallies by offset in each mapped file: `address - start + offset` of the mapping.
//!
//! Of several types of values one is read: `cpu/nanoseconds`, or else `samples/count`, or else the last one, which pprof shows
//! by default. The event is named after it. How many samples there were is the value of `samples/count`, where that is there.
//!
//! An address of a caller is within its call instruction (`profile.proto`, `Location.address`): Go writes the byte before the
//! return address. [`crate::Edge::caller`] is the byte after it, so that it means the same in all formats. Source:
//! `github.com/google/pprof/proto/profile.proto`.

mod wire;

use crate::bytes::name;
use crate::error::Error;
use crate::gather::{At, Gather, Identity, ObjectId, Outside, Spot};
use crate::profile::{Format, Precision, Profile, Tally};
use flate2::read::MultiGzDecoder;
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use wire::{Fields, Message, Value};

pub(crate) const GZIP: &[u8; 2] = b"\x1f\x8b";
/// The most bytes that a file unpacks to, and those that are no bomb whatever the ratio.
const RATIO: u64 = 200;
const HARMLESS: u64 = 64 << 20;
/// The most locations, mappings, and strings; and the most bytes of strings.
const MOST: usize = 1 << 21;
const MOST_STRING_BYTES: usize = 256 << 20;
/// The most types of values.
const MOST_TYPES: usize = 64;

/// Whether a file begins with a `ValueType` as first field of `Profile`, or with gzip.
pub(crate) fn begins(beginning: &[u8]) -> bool {
    // sample_type: type or unit, an index into the strings.
    beginning.starts_with(GZIP) || matches!(beginning, [0x0a, 2..=22, 0x08 | 0x10, ..])
}

/// Unpacks with a limit to what comes out.
struct Bounded<R> {
    input: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.left =
            self.left.checked_sub(read as u64).ok_or_else(|| io::Error::other("it unpacks to too much"))?;
        Ok(read)
    }
}

/// The fields of the profile, from its beginning.
fn fields<'i, R: Read + Seek>(input: &'i mut R) -> Result<Fields<Box<dyn Read + 'i>>, Error> {
    let fault = |error: io::Error| Error::new(0, format!("readable bytes: {error}"));
    let length = input.seek(SeekFrom::End(0)).map_err(fault)?;
    input.seek(SeekFrom::Start(0)).map_err(fault)?;
    let mut beginning = [0; 2];
    let is_gzip = input.read(&mut beginning).map_err(fault)? == 2 && beginning == *GZIP;
    input.seek(SeekFrom::Start(0)).map_err(fault)?;
    let plain: Box<dyn Read + 'i> = if is_gzip {
        let left = HARMLESS.max(length.saturating_mul(RATIO));
        Box::new(Bounded { input: MultiGzDecoder::new(io::BufReader::new(input)), left })
    } else {
        Box::new(input)
    };
    Ok(Fields::new(plain))
}

/// Reads a whole profile.
pub(crate) fn read(input: &mut (impl Read + Seek)) -> Result<Profile, Error> {
    let mut tables = Tables::default();
    tables.read(&mut fields(&mut *input)?)?;
    let mut samples = Samples::new(&tables)?;
    let mut fields = fields(input)?;
    while let Some((field, value, offset)) = fields.next()? {
        if let (2, Value::Bytes(bytes)) = (field, value) {
            samples.sample(&mut Message::new(bytes, offset), offset)?;
        }
    }
    let mut gather = samples.gather;
    gather.command = tables.command();
    Ok(gather.finish(Format::Pprof, Vec::new()))
}

#[derive(Debug, Clone, Copy, Default)]
struct Mapping {
    start: u64,
    offset: u64,
    path: u64,
    build_id: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Location {
    mapping: u64,
    address: u64,
    /// The function that the outermost line is of: the others are inlined into it.
    function: u64,
}

/// What samples refer to.
#[derive(Debug, Default)]
struct Tables {
    /// Indexes of strings: type and unit.
    types: Vec<(u64, u64)>,
    first_mapping: Option<u64>,
    mappings: HashMap<u64, Mapping>,
    locations: HashMap<u64, Location>,
    /// Names of functions.
    functions: HashMap<u64, u64>,
    strings: Vec<String>,
    string_bytes: usize,
}

impl Tables {
    fn read(&mut self, fields: &mut Fields<impl Read>) -> Result<(), Error> {
        while let Some((field, value, offset)) = fields.next()? {
            let Value::Bytes(bytes) = value else { continue };
            let mut message = Message::new(bytes, offset);
            match field {
                1 => self.types.push(value_type(&mut message)?),
                3 => self.mapping(&mut message)?,
                4 => self.location(&mut message)?,
                5 => self.function(&mut message)?,
                6 => {
                    let text = name(bytes);
                    self.string_bytes = self.string_bytes.saturating_add(text.len() + 24);
                    self.strings.push(text);
                }
                _ => {}
            }
            let tables =
                [self.mappings.len(), self.locations.len(), self.functions.len(), self.strings.len()];
            if tables.iter().any(|length| *length > MOST) || self.string_bytes > MOST_STRING_BYTES {
                return Err(Error::new(offset, format!("at most {MOST} locations and strings up to here")));
            }
            if self.types.len() > MOST_TYPES {
                return Err(Error::new(offset, format!("at most {MOST_TYPES} types of values")));
            }
        }
        Ok(())
    }

    fn mapping(&mut self, message: &mut Message<'_>) -> Result<(), Error> {
        let (mut id, mut mapping) = (0, Mapping::default());
        while let Some((field, value)) = message.field()? {
            match field {
                1 => id = value.number(),
                2 => mapping.start = value.number(),
                4 => mapping.offset = value.number(),
                5 => mapping.path = value.number(),
                6 => mapping.build_id = value.number(),
                _ => {}
            }
        }
        self.first_mapping.get_or_insert(id);
        self.mappings.insert(id, mapping);
        Ok(())
    }

    fn location(&mut self, message: &mut Message<'_>) -> Result<(), Error> {
        let (mut id, mut location) = (0, Location::default());
        while let Some((field, value)) = message.field()? {
            match (field, value) {
                (1, _) => id = value.number(),
                (2, _) => location.mapping = value.number(),
                (3, _) => location.address = value.number(),
                (4, Value::Bytes(line)) => {
                    let mut line = Message::new(line, 0);
                    while let Some((field, value)) = line.field()? {
                        if field == 1 {
                            location.function = value.number();
                        }
                    }
                }
                _ => {}
            }
        }
        self.locations.insert(id, location);
        Ok(())
    }

    fn function(&mut self, message: &mut Message<'_>) -> Result<(), Error> {
        let (mut id, mut name) = (0, 0);
        while let Some((field, value)) = message.field()? {
            match field {
                1 => id = value.number(),
                2 => name = value.number(),
                _ => {}
            }
        }
        self.functions.insert(id, name);
        Ok(())
    }

    fn string(&self, index: u64) -> &str {
        usize::try_from(index).ok().and_then(|index| self.strings.get(index)).map_or("", String::as_str)
    }

    /// The index of a type of values.
    fn index(&self, name: &str, unit: &str) -> Option<usize> {
        self.types.iter().position(|(kind, of)| self.string(*kind) == name && self.string(*of) == unit)
    }

    /// The program: pprof's main binary is the first mapping.
    fn command(&self) -> Option<String> {
        let mapping = self.mappings.get(&self.first_mapping?)?;
        Some(self.string(mapping.path).to_owned()).filter(|path| !path.is_empty())
    }
}

fn value_type(message: &mut Message<'_>) -> Result<(u64, u64), Error> {
    let mut found = (0, 0);
    while let Some((field, value)) = message.field()? {
        match field {
            1 => found.0 = value.number(),
            2 => found.1 = value.number(),
            _ => {}
        }
    }
    Ok(found)
}

/// Where a location is.
#[derive(Debug, Clone, Copy)]
enum Where {
    In(At),
    Outside(Outside),
}

/// The second pass.
struct Samples<'t> {
    tables: &'t Tables,
    gather: Gather,
    weight: usize,
    count: Option<usize>,
    /// By number of the mapping.
    objects: HashMap<u64, ObjectId>,
    locations: Vec<u64>,
    values: Vec<i64>,
}

impl<'t> Samples<'t> {
    fn new(tables: &'t Tables) -> Result<Samples<'t>, Error> {
        let count = tables.index("samples", "count");
        let weight =
            tables.index("cpu", "nanoseconds").or(count).or_else(|| tables.types.len().checked_sub(1));
        let weight = weight.ok_or_else(|| Error::new(0, "a type of values: a pprof profile"))?;
        let (kind, unit) = tables.types.get(weight).copied().unwrap_or_default();
        let mut gather = Gather::default();
        gather.event(format!("{}/{}", tables.string(kind), tables.string(unit)), Precision::Skids);
        let objects = HashMap::new();
        Ok(Samples { tables, gather, weight, count, objects, locations: Vec::new(), values: Vec::new() })
    }

    fn sample(&mut self, message: &mut Message<'_>, offset: u64) -> Result<(), Error> {
        let (mut locations, mut values) =
            (std::mem::take(&mut self.locations), std::mem::take(&mut self.values));
        locations.clear();
        values.clear();
        while let Some((field, value)) = message.field()? {
            match field {
                1 => value.numbers(offset, |location| locations.push(location))?,
                2 => value.numbers(offset, |value| values.push(value.cast_signed()))?,
                _ => {}
            }
        }
        let value = |index: usize| {
            let value = values.get(index).copied();
            let value = value.ok_or_else(|| Error::new(offset, "a value for each type"))?;
            u64::try_from(value)
                .map_err(|_| Error::new(offset, "values of 0 or more, as no difference has them"))
        };
        let weight = value(self.weight)?;
        let samples = self.count.map_or(Ok(0), value)?;
        let tally = Tally { samples, weight };
        if tally != Tally::default() {
            self.count(&locations, tally, offset)?;
        }
        (self.locations, self.values) = (locations, values);
        Ok(())
    }

    fn count(&mut self, locations: &[u64], tally: Tally, offset: u64) -> Result<(), Error> {
        let leaf = match locations.first() {
            Some(location) => self.place(*location, offset)?,
            None => Where::Outside(Outside::Unknown),
        };
        let leaf = match leaf {
            Where::Outside(outside) => {
                self.gather.outside(outside, 0, tally);
                return Ok(());
            }
            Where::In(at) => at,
        };
        self.gather.leaf(leaf, 0, tally, offset)?;
        let Some(caller) = locations.get(1) else { return Ok(()) };
        if let Where::In((object, spot)) = self.place(*caller, offset)? {
            let spot = match spot {
                Spot::FileOffset(within) => Spot::FileOffset(within.wrapping_add(1)),
                other => other,
            };
            self.gather.edge(leaf, (object, spot), 0, tally, offset)?;
        }
        Ok(())
    }

    fn place(&mut self, location: u64, offset: u64) -> Result<Where, Error> {
        let known = self.tables.locations.get(&location);
        let known =
            *known.ok_or_else(|| Error::new(offset, format!("a location, where {location} is none")))?;
        let Some(mapping) = self.tables.mappings.get(&known.mapping).copied() else {
            return Ok(Where::Outside(Outside::Unknown));
        };
        let path = self.tables.string(mapping.path);
        if path.starts_with("[kernel") {
            return Ok(Where::Outside(Outside::Kernel));
        }
        if path.is_empty() || path.starts_with("//anon") || path.starts_with("[anon") {
            return Ok(Where::Outside(Outside::Anonymous));
        }
        let object = match self.objects.get(&known.mapping) {
            Some(object) => *object,
            None => {
                let object = self.object(path, mapping.build_id, offset)?;
                self.objects.insert(known.mapping, object);
                object
            }
        };
        if known.address != 0 {
            let within =
                known.address.checked_sub(mapping.start).map(|within| within.wrapping_add(mapping.offset));
            return Ok(within
                .map_or(Where::Outside(Outside::Unknown), |at| Where::In((object, Spot::FileOffset(at)))));
        }
        let function = self.tables.functions.get(&known.function).map(|name| self.tables.string(*name));
        match function.filter(|name| !name.is_empty()) {
            Some(name) => Ok(Where::In((object, Spot::Symbol(self.gather.name(name, offset)?, None)))),
            None => Ok(Where::Outside(Outside::Unknown)),
        }
    }

    fn object(&mut self, path: &str, build_id: u64, offset: u64) -> Result<ObjectId, Error> {
        let living = path.strip_suffix(" (deleted)");
        let identity = Identity {
            path: living.unwrap_or(path).to_owned(),
            is_deleted: living.is_some(),
            build_id: hexadecimal(self.tables.string(build_id)),
            inode: None,
        };
        self.gather.object(identity, offset)
    }
}

/// A GNU build id; those of other kinds are no digits.
fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| Some(c.to_digit(16)? as u8)).collect();
    let digits = digits.filter(|digits| !digits.is_empty() && digits.len() <= 128)?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

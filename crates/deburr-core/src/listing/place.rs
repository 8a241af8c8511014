//! The code at a place: a name or an address → the function that holds it, or those that answer to it.

use super::annotate::permitted;
use super::file::File;
use super::model::{Candidate, Listing, ListingPlace, Shown, View};
use super::part::{Part, Region};
use crate::Svma;
use crate::address::Extent;
use crate::check::examine;
use crate::function::Function;
use crate::image::{self, Error, Kind, SourceLines};
use crate::insn::ClassSet;
use crate::pattern;
use crate::request::Request;
use std::collections::BTreeMap;

/// Lists the code at a place.
///
/// ```
/// use deburr_core::{ListingPlace, Request, Shown, View, listing};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/llsc_loop/hit-cas.o"));
/// let Shown::Listing(listing) = listing(bytes, &Request::default(), ListingPlace::parse("0x0"), View::default())? else {
///     panic!("there is code at the start");
/// };
/// for line in &listing.insns {
///     println!("{}  {}", line.svma, line.text);
/// }
/// # Ok::<(), deburr_core::Error>(())
/// ```
///
/// # Errors
/// [`Error`], as of [`crate::check()`].
pub fn listing(
    bytes: &[u8],
    request: &Request<'_>,
    place: ListingPlace<'_>,
    view: View,
) -> Result<Shown, Error> {
    examine(bytes, request, ClassSet::EMPTY, |image, program, report, _| {
        let file = File { image, program };
        match file.find(place) {
            Found::At { function, focus } => {
                let lines = SourceLines::of(image);
                let compiled = match &function {
                    Region::Function { whole, .. } => Some(file.compiled(whole)),
                    Region::Loose(_) => None,
                };
                let part = Part { file, function, focus, view, permitted: permitted(image, request) };
                let runtime = report.runtime;
                let listing = part.listing(report.findings, lines.as_ref());
                Shown::Listing(Box::new(Listing { compiled, runtime, ..listing }))
            }
            Found::Several(candidates) => Shown::Several(candidates),
            Found::Nowhere => Shown::Nowhere(file.names().map(|(_, name)| image::demangle(name)).collect()),
        }
    })
}

enum Found {
    /// Code of one function; `function` is `None` in code that belongs to none.
    At {
        function: Region,
        focus: Option<Svma>,
    },
    Several(Vec<Candidate>),
    Nowhere,
}

impl<'f> File<'f> {
    fn region(self, whole: Function) -> Region {
        Region::Function { whole, parts: self.parts(&whole) }
    }

    fn whole_candidate(self, function: &Function) -> Candidate {
        let whole = self.program.whole(function);
        self.candidate(whole, &self.parts(whole))
    }

    fn find(self, place: ListingPlace<'_>) -> Found {
        let Some(base) = place.base else {
            return self.at_address(place.offset.unwrap_or(0));
        };
        if let Some(offset) = place.offset
            && let Some(code) = self.image.code.iter().find(|code| code.name == base)
        {
            // In a relocatable object as other tools show addresses, elsewhere from the section's start too.
            return self.at(code.extent.start.offset(offset.cast_signed()));
        }
        let found = self.named(base);
        match (found.as_slice(), place.offset) {
            ([], _) => Found::Nowhere,
            ([one], None) => Found::At { function: self.region(*one), focus: None },
            ([one], Some(offset)) => self.at(self.image.svma(one.start).offset(offset.cast_signed())),
            (several, _) => {
                Found::Several(several.iter().map(|function| self.whole_candidate(function)).collect())
            }
        }
    }

    fn at_address(self, address: u64) -> Found {
        if self.image.kind != Kind::Relocatable {
            return self.at(Svma(address));
        }
        // Every section of an object begins at 0.
        let holds = self.image.code.iter().filter(|code| address < code.extent.len());
        let starts: Vec<_> = holds.map(|code| code.extent.start).collect();
        if let [start] = starts.as_slice() {
            return self.at(start.offset(address.cast_signed()));
        }
        let candidates = starts.iter().filter_map(|start| {
            let svma = start.offset(address.cast_signed());
            let at = self.image.code_offset(svma)?;
            Some(self.whole_candidate(self.program.function_at(at)?))
        });
        let candidates: Vec<_> = candidates.collect();
        if candidates.is_empty() { Found::Nowhere } else { Found::Several(candidates) }
    }

    fn at(self, svma: Svma) -> Found {
        let Some((at, code)) = self.image.code_offset(svma).zip(self.image.code_at(svma)) else {
            return Found::Nowhere;
        };
        if let Some(function) = self.program.function_at(at) {
            let whole = *self.program.whole(function);
            return Found::At { function: self.region(whole), focus: Some(svma) };
        }
        let functions = self.program.functions();
        let after = functions.partition_point(|function| function.start <= at);
        let before = after.checked_sub(1).and_then(|before| functions.get(before));
        let start = before.map_or(code.extent.start, |before| self.image.svma(before.end));
        let end = functions.get(after).map_or(code.extent.end, |next| self.image.svma(next.start));
        let extent = Extent { start: start.max(code.extent.start), end: end.min(code.extent.end) };
        Found::At { function: Region::Loose(extent), focus: Some(svma) }
    }

    /// Every function with each of its names.
    fn names(self) -> impl Iterator<Item = (&'f Function, &'f str)> {
        let program = self.program;
        let image = self.image;
        let aliases = image.symbols.iter().filter_map(move |symbol| {
            let function = program.function_from(image.code_offset(symbol.svma)?)?;
            Some((program.whole(function), symbol.name.as_ref()))
        });
        let named = program.functions().iter().filter(|function| !function.is_part());
        aliases.chain(named.filter_map(move |function| Some((function, program.name(function, image)?))))
    }

    /// The functions that answer to a name, by address: as it is written, else those that the pattern describes or
    /// whose name holds it.
    fn named(self, wanted: &str) -> Vec<Function> {
        let of = |is_it: &dyn Fn(&str) -> bool| {
            let found: BTreeMap<_, Function> = self
                .names()
                .filter(|(_, name)| is_it(name))
                .map(|(function, _)| (function.start, *function))
                .collect();
            found.into_values().collect::<Vec<_>>()
        };
        let exact = of(&|name| name == wanted);
        if !exact.is_empty() {
            return exact;
        }
        // Entries of procedure linkage tables are meant only where one is named.
        let is_meant = |name: &str| wanted.contains('@') || !name.ends_with("@plt");
        let is_readable = |name: &str| {
            let readable = image::demangle(name);
            let rest = readable.strip_prefix(wanted).filter(|_| is_meant(name));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
        };
        let exact = of(&is_readable);
        if !exact.is_empty() {
            return exact;
        }
        let is_pattern = wanted.contains(['*', '?']);
        of(&|name| {
            let readable = image::demangle(name);
            match is_pattern {
                true => pattern::matches(wanted, name) || pattern::matches(wanted, &readable),
                false => is_meant(name) && readable.contains(wanted),
            }
        })
    }
}

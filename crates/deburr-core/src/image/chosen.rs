//! A static archive → the functions that only ifunc resolvers choose, across its members.
//!
//! In: the bytes of an archive and where its members are. Out: names of global functions. glibc's `memcpy` is a resolver in
//! one member, and its variants are in others, each of which needs more than the library. A name is *chosen* if resolvers
//! lead to it, and nothing else does but what they lead to. A table in data is something else, as is code of no known symbol.
//! Follows the gABI, "Symbol Table" and "Relocation", and the GNU extension `STT_GNU_IFUNC`.

use super::archive::Archive;
use super::elf::{Elf, SHT_SYMTAB};
use super::linkage::IFUNC;
use super::parse::relocations::{entries_of, relocated_sections};
use super::parse::symbols::SymbolTable;
use std::collections::{HashMap, HashSet};

/// `STT_NOTYPE` and `STT_FUNC`.
const FUNCTIONS: [u8; 2] = [0, 2];
/// glibc's own list of its variants, for its tests: it calls none of them.
const LISTS: [&str; 1] = ["__libc_ifunc_impl_list"];

/// Who refers to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Referrer<'a> {
    /// A resolver, or a list of variants.
    Resolver,
    /// A global function.
    Function(&'a str),
    /// Something else in a member, by its number.
    Member(usize),
    /// Data.
    Data,
}

/// A symbol's code: where it begins and ends, and who refers to what is named there.
type Place<'a> = (u64, u64, Referrer<'a>);

/// The names of the chosen functions; none, where no member has a resolver.
pub fn chosen_by_resolvers<'a>(bytes: &'a [u8], archive: &Archive) -> HashSet<&'a str> {
    let objects = archive.members.iter().map(|member| bytes.get(member.range.clone()).unwrap_or(&[]));
    let elves: Vec<Elf<'a>> = objects.filter_map(|object| Elf::parse(object).ok()).collect();
    let has_resolver = |elf: &Elf<'a>| {
        let table = SymbolTable::of_kind(elf, SHT_SYMTAB);
        table.is_some_and(|table| table.iter().any(|(_, symbol)| symbol.kind() == IFUNC))
    };
    if !elves.iter().any(has_resolver) {
        return HashSet::new();
    }
    let mut referrers: HashMap<&'a str, HashSet<Referrer<'a>>> = HashMap::new();
    let mut defined: Vec<Vec<&'a str>> = Vec::new();
    for (number, elf) in elves.iter().enumerate() {
        let places = places(elf);
        let global = places.iter().filter_map(|(.., referrer)| match referrer {
            Referrer::Function(name) => Some(*name),
            _ => None,
        });
        defined.push(global.collect());
        references(elf, number, &places, &mut referrers);
    }
    let all: HashSet<&str> = defined.iter().flatten().copied().collect();
    let mut chosen: HashSet<&'a str> = referrers.keys().copied().filter(|name| all.contains(name)).collect();
    loop {
        let before = chosen.len();
        let is_from_chosen = |referrer: &Referrer<'a>| match *referrer {
            Referrer::Resolver => true,
            Referrer::Function(name) => chosen.contains(name),
            // Whatever calls a local function is one of the member's.
            Referrer::Member(number) => {
                defined.get(number).is_some_and(|names| names.iter().all(|name| chosen.contains(name)))
            }
            Referrer::Data => false,
        };
        let is_chosen = |name: &&&str| {
            referrers.get(**name).is_some_and(|referrers| referrers.iter().all(is_from_chosen))
        };
        let left: HashSet<&str> = chosen.iter().filter(is_chosen).copied().collect();
        chosen = reached(&left, &referrers, &defined);
        if chosen.len() == before {
            return chosen;
        }
    }
}

/// The names of all global functions that the members of an archive define.
pub fn defined_functions<'a>(bytes: &'a [u8], archive: &Archive) -> HashSet<&'a str> {
    let objects = archive.members.iter().filter_map(|member| bytes.get(member.range.clone()));
    let elves = objects.filter_map(|object| Elf::parse(object).ok());
    let named = elves.flat_map(|elf| places(&elf)).filter_map(|(.., referrer)| match referrer {
        Referrer::Function(name) => Some(name),
        _ => None,
    });
    named.collect()
}

/// A place in the code of a member that refers to a function of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UseOfName<'a> {
    /// What it refers to.
    pub name: &'a str,
    /// The global function that it is in.
    pub by: Option<&'a str>,
    /// The number of the member.
    pub member: usize,
}

/// What the code of each member refers to and does not define, without resolvers and lists of variants.
pub fn uses_in_code<'a>(bytes: &'a [u8], archive: &Archive) -> HashSet<UseOfName<'a>> {
    let mut uses = HashSet::new();
    for (member, object) in archive.members.iter().enumerate() {
        let Some(elf) = bytes.get(object.range.clone()).and_then(|object| Elf::parse(object).ok()) else {
            continue;
        };
        let places = places(&elf);
        for section in relocated_sections(&elf).into_iter().filter(|section| section.target.is_executable()) {
            for rela in entries_of(section.table) {
                let Some(symbol) = section.symbols.get(rela.symbol) else { continue };
                let name = section.symbols.text(&symbol);
                if name.is_empty() || symbol.section != 0 {
                    continue;
                }
                let by = match holder(&places, section.target.svma.saturating_add(rela.offset)) {
                    Some(Referrer::Resolver) => continue,
                    Some(Referrer::Function(by)) => Some(by),
                    _ => None,
                };
                uses.insert(UseOfName { name, by, member });
            }
        }
    }
    uses
}

/// Those of some names that a resolver leads to.
fn reached<'a>(
    among: &HashSet<&'a str>,
    referrers: &HashMap<&'a str, HashSet<Referrer<'a>>>,
    defined: &[Vec<&'a str>],
) -> HashSet<&'a str> {
    let mut reached: HashSet<&'a str> = HashSet::new();
    loop {
        let before = reached.len();
        for &name in among {
            let leads = |referrer: &Referrer<'a>| match *referrer {
                Referrer::Resolver => true,
                Referrer::Function(from) => reached.contains(from),
                Referrer::Member(number) => {
                    defined.get(number).is_some_and(|names| names.iter().any(|name| reached.contains(name)))
                }
                Referrer::Data => false,
            };
            if referrers.get(name).is_some_and(|referrers| referrers.iter().any(leads)) {
                reached.insert(name);
            }
        }
        if reached.len() == before {
            return reached;
        }
    }
}

/// The code of an object's symbols, by address; resolvers first where several symbols have the same.
fn places<'a>(elf: &Elf<'a>) -> Vec<Place<'a>> {
    let Some(table) = SymbolTable::of_kind(elf, SHT_SYMTAB) else { return Vec::new() };
    let mut places = Vec::new();
    for (index, symbol) in table.iter() {
        let name = table.text(&symbol);
        let is_code = || table.section(elf, &symbol, index).is_some_and(|section| section.is_executable());
        let referrer = match symbol.kind() {
            IFUNC => Referrer::Resolver,
            _ if LISTS.contains(&name) => Referrer::Resolver,
            kind if FUNCTIONS.contains(&kind) && symbol.is_global() => Referrer::Function(name),
            _ => continue,
        };
        if let Some(start) = table.svma(elf, &symbol, index).filter(|_| is_code()) {
            places.push((start, start.saturating_add(symbol.size), referrer));
        }
    }
    places.sort_by_key(|&(start, _, referrer)| (start, referrer != Referrer::Resolver));
    places
}

/// Adds who refers to which name in one object.
fn references<'a>(
    elf: &Elf<'a>,
    number: usize,
    places: &[Place<'a>],
    referrers: &mut HashMap<&'a str, HashSet<Referrer<'a>>>,
) {
    for section in relocated_sections(elf) {
        for rela in entries_of(section.table) {
            let Some(symbol) = section.symbols.get(rela.symbol) else { continue };
            let name = section.symbols.text(&symbol);
            if name.is_empty() || !symbol.is_global() {
                continue;
            }
            let at = section.target.svma.saturating_add(rela.offset);
            let referrer = match section.target.is_executable() {
                true => holder(places, at).unwrap_or(Referrer::Member(number)),
                false => Referrer::Data,
            };
            // A function that calls itself is not called by that.
            if referrer != Referrer::Function(name) {
                referrers.entry(name).or_default().insert(referrer);
            }
        }
    }
}

/// The symbol that holds an address.
fn holder<'a>(places: &[Place<'a>], at: u64) -> Option<Referrer<'a>> {
    let after = places.partition_point(|&(start, ..)| start <= at);
    let start = places.get(after.checked_sub(1)?)?.0;
    let first = places.partition_point(|&(other, ..)| other < start);
    let of_start = places.get(first..after)?.iter();
    of_start.filter(|&&(_, end, _)| at < end).map(|&(.., referrer)| referrer).next()
}

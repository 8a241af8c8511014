//! Which of the packages that an index names become entries: each once, and by default the newest of each package and architecture.

use crate::architecture;
use crate::entry::{Entry, Selection};
use crate::error::{Error, Place, Remarks, quoted};
use crate::limits::HELD;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The entries of one archive, as they are found. `V` is a version in the archive's order.
pub(crate) struct Choice<'a, V> {
    selection: &'a Selection,
    found: &'a mut dyn FnMut(Entry),
    /// By package and architecture.
    newest: BTreeMap<(String, String), (V, Named)>,
    /// By path, the hash with which it became an entry.
    given: HashMap<String, Option<String>>,
    /// The packages that are wanted by name.
    wanted: BTreeSet<&'a str>,
    /// Those of them that were met.
    met: BTreeSet<&'a str>,
    /// Bytes that are held.
    held: usize,
}

/// An entry and the place that names it.
struct Named {
    entry: Entry,
    index: String,
    place: Place,
}

impl<'a, V: Ord> Choice<'a, V> {
    pub(crate) fn new(selection: &'a Selection, found: &'a mut dyn FnMut(Entry)) -> Choice<'a, V> {
        Choice {
            selection,
            found,
            newest: BTreeMap::new(),
            given: HashMap::new(),
            wanted: selection.packages.iter().map(String::as_str).collect(),
            met: BTreeSet::new(),
            held: 0,
        }
    }

    /// A package as an index has it, with its name if it has one: offered if it is wanted, a remark if it is faulty.
    pub(crate) fn take(
        &mut self,
        name: Option<&str>,
        package: Result<(V, Entry), String>,
        (index, place): (&str, Place),
        remarks: &mut Remarks,
    ) -> Result<(), Error> {
        match package {
            Err(what) => {
                let name = name.map(|name| format!("package {}: ", quoted(name)));
                remarks.add(index, place, format!("{}{what}: left out", name.unwrap_or_default()));
                Ok(())
            }
            Ok((version, entry)) if self.wants(&entry) => self.offer(version, entry, (index, place), remarks),
            Ok(_) => Ok(()),
        }
    }

    /// Whether a package is wanted by its architecture and its name.
    fn wants(&mut self, entry: &Entry) -> bool {
        if !architecture::is_wanted(&self.selection.architectures, &entry.architecture) {
            return false;
        }
        let wanted = self.wanted.get(entry.package.as_str()).copied();
        self.met.extend(wanted);
        wanted.is_some() || self.wanted.is_empty()
    }

    /// A package that is wanted, where an index names it.
    pub(crate) fn offer(
        &mut self,
        version: V,
        entry: Entry,
        (index, place): (&str, Place),
        remarks: &mut Remarks,
    ) -> Result<(), Error> {
        let named = Named { entry, index: index.to_owned(), place };
        if self.selection.all_versions {
            self.give(named, remarks);
        } else {
            let key = (named.entry.package.clone(), named.entry.architecture.clone());
            let size = named.size();
            match self.newest.get_mut(&key) {
                Some((newest, _)) if *newest >= version => {}
                Some(held) => {
                    self.held = self.held.saturating_sub(held.1.size()) + size;
                    *held = (version, named);
                }
                None => {
                    self.held += size;
                    self.newest.insert(key, (version, named));
                }
            }
        }
        let what = "the archive names more packages than can be held: \
            select some (--package, --packages-from, --architecture), or fewer suites (--suite)";
        if self.held <= HELD { Ok(()) } else { Err(Error::index(index, place, what)) }
    }

    /// Gives what was held, in order of package and architecture, and says which packages were never met.
    pub(crate) fn finish(mut self, archive: &str, remarks: &mut Remarks) {
        for (_, named) in std::mem::take(&mut self.newest).into_values() {
            self.give(named, remarks);
        }
        for package in self.wanted.difference(&self.met) {
            let of = if self.selection.architectures.is_empty() { "" } else { " of a wanted architecture" };
            remarks.add(archive, Place::Whole, format!("names no package {}{of}", quoted(package)));
        }
    }

    fn give(&mut self, named: Named, remarks: &mut Remarks) {
        let Named { entry, index, place } = named;
        match self.given.get(&entry.path) {
            Some(given) if *given == entry.sha256 => {}
            Some(_) => {
                let what = format!("{} is named before with another hash: left out", quoted(&entry.path));
                remarks.add(&index, place, what);
            }
            None => {
                self.held += entry.path.len() + 150;
                self.given.insert(entry.path.clone(), entry.sha256.clone());
                (self.found)(entry);
            }
        }
    }
}

impl Named {
    /// What it takes in memory, about.
    fn size(&self) -> usize {
        let entry = &self.entry;
        let names = entry.package.len() + entry.architecture.len() + entry.version.len();
        2 * names + entry.path.len() + self.index.len() + 350
    }
}

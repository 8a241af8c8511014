//! Samples as they come → a [`Profile`]. What is kept grows with the number of distinct places, never with that of samples.
//!
//! Objects and names get numbers, so that a sample that was seen before costs one look-up and no allocation.

use crate::error::Error;
use crate::profile::{
    Branch, Call, Edge, Event, Format, JitFunction, Leaf, LeftOut, Lost, Object, Place, Precision, Profile,
    Site, Tally, WantedJitdump,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

/// The most distinct entries of all tables together. A place takes some 60 bytes.
const MOST_ENTRIES: usize = 1 << 23;
/// The most bytes of distinct names.
const MOST_NAME_BYTES: usize = 256 << 20;

/// The number of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ObjectId(u32);

/// The number of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NameId(u32);

/// A place, small enough to be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Spot {
    FileOffset(u64),
    Svma(u64),
    Symbol(NameId, Option<u64>),
}

/// A place in an object.
pub(crate) type At = (ObjectId, Spot);

/// What distinguishes an object from others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Identity {
    pub(crate) path: String,
    pub(crate) is_deleted: bool,
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) inode: Option<(u32, u32, u64)>,
}

/// What is in no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    Kernel,
    Guest,
    Anonymous,
    Unknown,
}

#[derive(Debug, Clone, Copy, Default)]
struct BranchCount {
    count: u64,
    mispredicted: u64,
}

#[derive(Debug, Clone, Default)]
struct CallCount {
    count: u64,
    inclusive: Vec<u64>,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    pub(crate) events: Vec<Event>,
    objects: Vec<Identity>,
    object_ids: HashMap<Identity, ObjectId>,
    names: Vec<Arc<str>>,
    name_ids: HashMap<Arc<str>, NameId>,
    name_bytes: usize,
    leaves: HashMap<(At, u32), Tally>,
    edges: HashMap<(At, At, u32), Tally>,
    calls: HashMap<(At, At), CallCount>,
    branches: HashMap<(At, At), BranchCount>,
    /// Functions made at run time: offset and event.
    jit_leaves: HashMap<(usize, u64, u32), Tally>,
    pub(crate) lost: Lost,
    pub(crate) command: Option<String>,
    pub(crate) hostname: Option<String>,
    pub(crate) wanted: HashSet<WantedJitdump>,
    pub(crate) unread_jitdumps: Vec<(String, Error)>,
    pub(crate) wanted_perf_maps: BTreeSet<u32>,
    pub(crate) unread_trace: u64,
}

/// Counts a new entry, and refuses what no program has.
fn bounded(entries: usize, offset: u64) -> Result<(), Error> {
    if entries < MOST_ENTRIES {
        return Ok(());
    }
    Err(Error::new(offset, format!("at most {MOST_ENTRIES} distinct places up to here, as a program has")))
}

/// Adds to an entry of a table, where there is room for a new one.
fn add<K: Hash + Eq>(table: &mut HashMap<K, Tally>, key: K, tally: Tally, offset: u64) -> Result<(), Error> {
    if let Some(known) = table.get_mut(&key) {
        known.add(tally);
        return Ok(());
    }
    bounded(table.len(), offset)?;
    table.insert(key, tally);
    Ok(())
}

impl Gather {
    /// A new event; its number.
    pub(crate) fn event(&mut self, name: String, precision: Precision) -> u32 {
        let number = self.events.len();
        self.events.push(Event { name, total: Tally::default(), left_out: LeftOut::default(), precision });
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    fn count_names(&mut self, bytes: usize, offset: u64) -> Result<(), Error> {
        // A map's entry and the name's header.
        self.name_bytes = self.name_bytes.saturating_add(bytes).saturating_add(64);
        if self.name_bytes > MOST_NAME_BYTES {
            let most = MOST_NAME_BYTES >> 20;
            return Err(Error::new(offset, format!("at most {most} MiB of distinct names up to here")));
        }
        Ok(())
    }

    /// The number of an object.
    pub(crate) fn object(&mut self, identity: Identity, offset: u64) -> Result<ObjectId, Error> {
        if let Some(id) = self.object_ids.get(&identity) {
            return Ok(*id);
        }
        self.count_names(2 * identity.path.len(), offset)?;
        let id = ObjectId(u32::try_from(self.objects.len()).unwrap_or(u32::MAX));
        self.objects.push(identity.clone());
        self.object_ids.insert(identity, id);
        Ok(id)
    }

    /// The number of an object that only a path distinguishes.
    pub(crate) fn object_at(&mut self, path: &str, offset: u64) -> Result<ObjectId, Error> {
        self.object(Identity { path: path.to_owned(), ..Identity::default() }, offset)
    }

    /// The number of a name.
    pub(crate) fn name(&mut self, name: &str, offset: u64) -> Result<NameId, Error> {
        if let Some(id) = self.name_ids.get(name) {
            return Ok(*id);
        }
        self.count_names(name.len(), offset)?;
        let id = NameId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        let name: Arc<str> = Arc::from(name);
        self.names.push(Arc::clone(&name));
        self.name_ids.insert(name, id);
        Ok(id)
    }

    /// A name by its number.
    pub(crate) fn name_of(&self, id: NameId) -> Arc<str> {
        self.names.get(id.0 as usize).map_or_else(|| Arc::from(""), Arc::clone)
    }

    fn total(&mut self, event: u32, tally: Tally) -> Option<&mut Event> {
        let event = self.events.get_mut(event as usize)?;
        event.total.add(tally);
        Some(event)
    }

    /// Something that was seen at a place. `offset` is that of the record, for errors.
    pub(crate) fn leaf(&mut self, at: At, event: u32, tally: Tally, offset: u64) -> Result<(), Error> {
        self.total(event, tally);
        add(&mut self.leaves, (at, event), tally, offset)
    }

    /// What called the function of a leaf that [`Gather::leaf`] has counted.
    pub(crate) fn edge(
        &mut self,
        leaf: At,
        caller: At,
        event: u32,
        tally: Tally,
        offset: u64,
    ) -> Result<(), Error> {
        add(&mut self.edges, (leaf, caller, event), tally, offset)
    }

    /// Something that was seen in no object.
    pub(crate) fn outside(&mut self, outside: Outside, event: u32, tally: Tally) {
        let Some(event) = self.total(event, tally) else { return };
        match outside {
            Outside::Kernel => event.left_out.kernel.add(tally),
            Outside::Guest => event.left_out.guest.add(tally),
            Outside::Anonymous => event.left_out.anonymous.add(tally),
            Outside::Unknown => event.left_out.unknown.add(tally),
        }
    }

    /// Something that was seen in a function made at run time.
    pub(crate) fn jit(
        &mut self,
        function: usize,
        at: u64,
        event: u32,
        tally: Tally,
        offset: u64,
    ) -> Result<(), Error> {
        self.total(event, tally);
        add(&mut self.jit_leaves, (function, at, event), tally, offset)
    }

    /// The functions made at run time that were seen.
    pub(crate) fn jit_functions(&self) -> HashSet<usize> {
        self.jit_leaves.keys().map(|(function, ..)| *function).collect()
    }

    /// A taken branch.
    pub(crate) fn branch(
        &mut self,
        from: At,
        to: At,
        is_mispredicted: bool,
        offset: u64,
    ) -> Result<(), Error> {
        if !self.branches.contains_key(&(from, to)) {
            bounded(self.branches.len(), offset)?;
        }
        let known = self.branches.entry((from, to)).or_default();
        known.count = known.count.saturating_add(1);
        known.mispredicted = known.mispredicted.saturating_add(u64::from(is_mispredicted));
        Ok(())
    }

    /// Calls that were counted.
    pub(crate) fn call(
        &mut self,
        from: At,
        to: At,
        count: u64,
        cost: &[u64],
        offset: u64,
    ) -> Result<(), Error> {
        if !self.calls.contains_key(&(from, to)) {
            bounded(self.calls.len().saturating_mul(1 + cost.len()), offset)?;
        }
        let known = self.calls.entry((from, to)).or_default();
        known.count = known.count.saturating_add(count);
        known.inclusive.resize(known.inclusive.len().max(cost.len()), 0);
        for (sum, cost) in known.inclusive.iter_mut().zip(cost) {
            *sum = sum.saturating_add(*cost);
        }
        Ok(())
    }

    /// The build ids that a file has apart from its mappings: each is that of the path's only object, or of none.
    pub(crate) fn build_ids(&mut self, found: &HashMap<String, Vec<u8>>) {
        let mut of_path = HashMap::<&str, usize>::new();
        for identity in &self.objects {
            *of_path.entry(&identity.path).or_default() += 1;
        }
        let unique: HashSet<String> =
            of_path.into_iter().filter(|(_, count)| *count == 1).map(|(path, _)| path.to_owned()).collect();
        for identity in &mut self.objects {
            if identity.build_id.is_none() && !identity.is_deleted && unique.contains(&identity.path) {
                identity.build_id = found.get(&identity.path).cloned();
            }
        }
    }

    /// The whole profile. `jit`: the functions that numbers of [`Gather::jit`] mean, without their leaves.
    pub(crate) fn finish(self, format: Format, mut jit: Vec<JitFunction>) -> Profile {
        for ((function, at, event), tally) in self.jit_leaves {
            if let Some(function) = jit.get_mut(function) {
                function.leaves.push((at, event as usize, tally));
            }
        }
        jit.retain(|function| !function.leaves.is_empty());
        jit.iter_mut().for_each(|function| function.leaves.sort());
        jit.sort_by(|one, other| (one.pid, one.svma, &one.name).cmp(&(other.pid, other.svma, &other.name)));
        let mut objects: Vec<Object> = self
            .objects
            .into_iter()
            .map(|identity| Object {
                path: identity.path,
                is_deleted: identity.is_deleted,
                build_id: identity.build_id,
                inode: identity.inode,
                leaves: Vec::new(),
                edges: Vec::new(),
                calls: Vec::new(),
                branches: Vec::new(),
            })
            .collect();
        let names = self.names;
        let nameless: Arc<str> = Arc::from("");
        let place = |spot: Spot| match spot {
            Spot::FileOffset(offset) => Place::FileOffset(offset),
            Spot::Svma(svma) => Place::Svma(svma),
            Spot::Symbol(name, offset) => {
                Place::Symbol { name: Arc::clone(names.get(name.0 as usize).unwrap_or(&nameless)), offset }
            }
        };
        let site = |(object, spot): At| Site { object: object.0 as usize, place: place(spot) };
        for (((object, spot), event), tally) in self.leaves {
            if let Some(object) = objects.get_mut(object.0 as usize) {
                object.leaves.push(Leaf { place: place(spot), event: event as usize, tally });
            }
        }
        for (((object, spot), caller, event), tally) in self.edges {
            if let Some(object) = objects.get_mut(object.0 as usize) {
                let edge = Edge { leaf: place(spot), caller: site(caller), event: event as usize, tally };
                object.edges.push(edge);
            }
        }
        let events = self.events.len();
        for (((object, spot), to), call) in self.calls {
            if let Some(object) = objects.get_mut(object.0 as usize) {
                let mut inclusive = call.inclusive;
                inclusive.resize(events, 0);
                object.calls.push(Call { from: place(spot), to: site(to), count: call.count, inclusive });
            }
        }
        for (((object, spot), to), seen) in self.branches {
            if let Some(object) = objects.get_mut(object.0 as usize) {
                let (count, mispredicted) = (seen.count, seen.mispredicted);
                object.branches.push(Branch { from: place(spot), to: site(to), count, mispredicted });
            }
        }
        let mut wanted: Vec<WantedJitdump> = self.wanted.into_iter().collect();
        wanted.sort();
        let mut profile = Profile {
            format,
            events: self.events,
            objects,
            jit,
            lost: self.lost,
            command: self.command,
            hostname: self.hostname,
            wanted,
            unread_jitdumps: self.unread_jitdumps,
            wanted_perf_maps: self.wanted_perf_maps.into_iter().collect(),
            unread_trace: self.unread_trace,
        };
        profile.settle();
        profile
    }
}

//! The types of two builds of one file → where they differ.
//!
//! In: the debug information of both and pairs of types that must be the same. Out: the first place where they are not. Pairs are
//! worked off one after the other; a pair that is met again is taken for the same, which is right where nothing else differs (the
//! largest bisimulation), so types that contain each other come to an end.

use super::headers::Headers;
use super::index::{At, Die, Names};
use super::limits::{MAX_PARTNERS, MAX_REASONS};
use super::node::{Edge, Label, Node, Reader, Shape, Value};
use deburr_cpu::{Arch, Feature, FeatureSet};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

/// One build, as the comparison needs it.
pub(super) struct Side<'a, 'i> {
    pub(super) level: &'i str,
    pub(super) features: FeatureSet,
    /// Whether some of its code has no debug information.
    pub(super) has_bare_code: bool,
    pub(super) reader: Reader<'a, 'i>,
}

/// Where two builds differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// What of what, with both values.
    pub(super) text: String,
}

/// What is left to compare of a pair of edges, and what was met.
#[derive(Default)]
struct Work {
    waiting: Vec<(At, At)>,
    /// Names of types that are only declared.
    declared: Vec<u32>,
    /// An alignment that differs, to be reported if the types do not differ otherwise.
    alignment: Option<Unequal>,
    /// Whether an exported name leads here: then what is only declared counts.
    is_of_interface: bool,
}

/// Why a pair of types is not the same.
enum Unequal {
    Difference(Difference),
    /// It cannot be read.
    Unknown(String),
}

impl From<String> for Unequal {
    fn from(reason: String) -> Unequal {
        Unequal::Unknown(reason)
    }
}

/// Compares the types of two builds.
pub(super) struct Comparison<'a, 'i> {
    low: Side<'a, 'i>,
    high: Side<'a, 'i>,
    arch: Arch,
    names: &'i Names<'a>,
    /// Pairs that are the same.
    same: HashSet<(At, At)>,
    /// Pairs that are not, and why.
    different: HashMap<(At, At), String>,
    /// Names of types that are only declared where the interface uses them, each with the first use.
    declared: VecDeque<(u32, String)>,
    known: HashSet<u32>,
    /// Where they differ, each with the first exported name that leads there and the number of others.
    differences: Vec<(String, String, usize)>,
    /// What users of the library can see, if that is known.
    headers: Option<&'i Headers>,
    pub(super) reasons: BTreeSet<String>,
}

impl<'a, 'i> Comparison<'a, 'i> {
    pub(super) fn new(
        low: Side<'a, 'i>,
        high: Side<'a, 'i>,
        arch: Arch,
        names: &'i Names<'a>,
        headers: Option<&'i Headers>,
    ) -> Comparison<'a, 'i> {
        Comparison {
            low,
            high,
            arch,
            names,
            same: HashSet::new(),
            different: HashMap::new(),
            declared: VecDeque::new(),
            known: HashSet::new(),
            differences: Vec::new(),
            headers,
            reasons: BTreeSet::new(),
        }
    }

    /// Compares two exported functions or objects.
    pub(super) fn exported(&mut self, name: &str, is_function: bool, low: At, high: At) {
        let edges = |side: &Side<'a, 'i>, at: At| match is_function {
            true => Ok(Edge {
                label: Label { what: "", of: &[] },
                to: Some(at),
                alignment: None,
                is_atomic: false,
            }),
            false => side.reader.object(at),
        };
        let equal = match (edges(&self.low, low), edges(&self.high, high)) {
            (Ok(low), Ok(high)) => self.edges(&low, &high, Some(name)),
            (Err(reason), _) | (_, Err(reason)) => Err(Unequal::Unknown(reason)),
        };
        match equal {
            Ok(()) => {}
            Err(Unequal::Difference(it)) => self.differs(it.text, name),
            Err(Unequal::Unknown(reason)) => self.unknown(reason),
        }
    }

    fn differs(&mut self, text: String, user: &str) {
        if let Some(known) = self.differences.iter_mut().find(|known| known.0 == text) {
            known.2 += 1;
        } else if self.differences.len() < MAX_REASONS {
            self.differences.push((text, user.to_owned(), 0));
        }
    }

    /// Where they differ, a clause each.
    pub(super) fn differences(&self) -> Vec<String> {
        let clauses = self.differences.iter().map(|(text, user, others)| match others {
            0 => format!("{text} ({user})"),
            _ => format!("{text} ({user} and {others} more)"),
        });
        clauses.collect()
    }

    pub(super) fn unknown(&mut self, reason: String) {
        if self.reasons.len() < MAX_REASONS {
            self.reasons.insert(reason);
        }
    }

    /// Compares the definitions of types that the interface uses and does not define; then of all other types of both builds: one of
    /// them may pass through a pointer to anything.
    pub(super) fn definitions(&mut self) {
        let names = self.names;
        while let Some((id, user)) = self.declared.pop_front() {
            let is_somewhere = |side: &Side<'a, 'i>| side.reader.index.definitions.contains_key(&id);
            if is_somewhere(&self.low) != is_somewhere(&self.high) {
                self.unknown(format!("{} is only defined at one of the levels ({user})", names.text(id)));
            }
            self.definitions_of(id, Some(&user));
        }
        let mut ids: Vec<u32> = self.low.reader.index.definitions.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            if self.reasons.len() >= MAX_REASONS {
                return;
            }
            if !self.known.contains(&id) {
                self.definitions_of(id, None);
            }
        }
        self.only_at_one_level();
    }

    /// Notes types that only one of the builds has: another name for what passes through a pointer.
    fn only_at_one_level(&mut self) {
        let mut found = Vec::new();
        for (side, other) in [(&self.low, &self.high), (&self.high, &self.low)] {
            let lacks = |id: &u32| {
                !other.reader.index.definitions.contains_key(id) && !self.names.is_of_the_system(*id)
            };
            let definitions = side.reader.index.definitions.iter().filter(|(id, _)| lacks(id));
            for (id, (_, at)) in definitions.filter_map(|(id, them)| Some((id, them.first()?))) {
                let Ok(die) = side.reader.entry(*at) else { continue };
                if die.tag() != gimli::DW_TAG_typedef && !self.is_hidden_definition(side, *at, &die) {
                    found.push(format!("{} is only defined at {}", self.names.text(*id), side.level));
                }
            }
        }
        found.sort_unstable();
        found.into_iter().for_each(|reason| self.unknown(reason));
    }

    /// Whether users of the library cannot see a definition of a type.
    fn is_hidden_definition(&self, side: &Side<'a, 'i>, at: At, die: &Die<'a>) -> bool {
        let index = side.reader.index;
        let (Some(headers), Some(name)) = (self.headers, index.name(at, die)) else { return false };
        index.file(at, die).is_some_and(|file| !headers.show(file, name))
    }

    /// Compares the definitions of a name: each of the lower level needs an equal one in a unit of the same source file.
    fn definitions_of(&mut self, id: u32, user: Option<&str>) {
        let of = |side: &Side<'a, 'i>| side.reader.index.definitions.get(&id).cloned().unwrap_or_default();
        let (low, high) = (of(&self.low), of(&self.high));
        let mut by_file: HashMap<&[u8], Vec<At>> = HashMap::new();
        high.iter().for_each(|(file, at)| by_file.entry(file).or_default().push(*at));
        let everywhere: Vec<At> = high.iter().map(|(_, at)| *at).take(MAX_PARTNERS).collect();
        let mut ranks: HashMap<&[u8], usize> = HashMap::new();
        for (file, at) in &low {
            let rank = ranks.entry(file).or_default();
            let first_rank = *rank;
            *rank += 1;
            if user.is_none() && self.is_hidden_typedef(*at) {
                continue;
            }
            let partners = match by_file.get(file) {
                Some(partners) => partners.as_slice(),
                None if user.is_some() => everywhere.as_slice(),
                None => &[],
            };
            // The one of the same rank first; units come in the same order.
            let partners =
                partners.iter().cycle().skip(first_rank % partners.len().max(1)).take(partners.len());
            let mut first = None;
            let mut is_same = partners.clone().next().is_none();
            for partner in partners.take(MAX_PARTNERS) {
                let label = Label { what: "type", of: &[] };
                let edge = |side: &Side<'a, 'i>, at| side.reader.edge_to(label, Some(at));
                let equal = match (edge(&self.low, *at), edge(&self.high, *partner)) {
                    (Ok(low), Ok(high)) => self.edges(&low, &high, user),
                    (Err(reason), _) | (_, Err(reason)) => Err(Unequal::Unknown(reason)),
                };
                match equal {
                    Ok(()) => {
                        is_same = true;
                        break;
                    }
                    Err(why) => first = first.or(Some(why)),
                }
            }
            if is_same {
                continue;
            }
            match (first, user) {
                (Some(Unequal::Difference(it)), Some(user)) => self.differs(it.text, user),
                (Some(Unequal::Difference(it)), None) => self.unknown(format!(
                    "{}; no exported function is seen to use it, but it may pass through a pointer",
                    it.text
                )),
                (Some(Unequal::Unknown(reason)), _) => self.unknown(reason),
                (None, _) => {}
            }
            return;
        }
    }

    /// Compares what two edges lead to, and all that can be reached from there, for a user: an exported name; or for none.
    fn edges(&mut self, low: &Edge<'a>, high: &Edge<'a>, user: Option<&str>) -> Result<(), Unequal> {
        let mut met: Vec<(At, At)> = Vec::new();
        let mut work = Work { is_of_interface: user.is_some(), ..Work::default() };
        let mut equal = self.edge(low, high, &mut work);
        while let (Ok(()), Some(pair)) = (&equal, work.waiting.pop()) {
            if let Some(text) = self.different.get(&pair) {
                equal = Err(Unequal::Difference(Difference { text: text.clone() }));
            } else if self.same.insert(pair) {
                met.push(pair);
                equal = self.pair(pair, &mut work);
                if let Err(Unequal::Difference(it)) = &equal {
                    self.different.insert(pair, it.text.clone());
                }
            }
        }
        if let (Ok(()), Some(alignment)) = (&equal, work.alignment) {
            equal = Err(alignment);
        }
        if equal.is_err() {
            // They were taken for the same as long as nothing else differed.
            for pair in met {
                self.same.remove(&pair);
            }
        }
        for id in work.declared {
            if user.is_some() && self.known.insert(id) {
                self.declared.push_back((id, user.unwrap_or_default().to_owned()));
            }
        }
        equal
    }

    /// Compares two edges themselves.
    fn edge(&self, low: &Edge<'a>, high: &Edge<'a>, work: &mut Work) -> Result<(), Unequal> {
        let what = |text: &str| format!("{text} of the {}", edge_text(&low.label));
        if low.alignment != high.alignment && work.alignment.is_none() {
            let text = |it: Option<i128>| it.map_or("that of its type".to_owned(), |it| it.to_string());
            // A typedef repeats what its type demands, and the type says more.
            let (low, high) = (text(low.alignment), text(high.alignment));
            work.alignment = Some(self.differ(&what("alignment"), &low, &high));
        }
        if low.is_atomic != high.is_atomic {
            let text = |it: bool| if it { "atomic" } else { "not atomic" };
            return Err(self.differ(&what("kind"), text(low.is_atomic), text(high.is_atomic)));
        }
        match (low.to, high.to) {
            (Some(low), Some(high)) => work.waiting.push((low, high)),
            (None, None) => {}
            (low, _) => {
                let text = |is_void: bool| if is_void { "void" } else { "a type" };
                return Err(self.differ(&what("type"), text(low.is_none()), text(low.is_some())));
            }
        }
        Ok(())
    }

    fn differ(&self, what: &str, low: &str, high: &str) -> Unequal {
        let text = format!("{what}: {low} at {}, {high} at {}", self.low.level, self.high.level);
        Unequal::Difference(Difference { text })
    }

    /// Compares two types, without what they refer to: that waits.
    fn pair(&self, (low_at, high_at): (At, At), work: &mut Work) -> Result<(), Unequal> {
        let (low, high) = (self.low.reader.node(low_at)?, self.high.reader.node(high_at)?);
        let name = low.name.or(high.name).filter(|name| !name.is_empty());
        let what = match name {
            Some(name) => format!("{} {}", low.shape.word(), String::from_utf8_lossy(name)),
            None => format!("{} without a name", low.shape.word()),
        };
        if self.is_hidden(&low) && self.is_hidden(&high) {
            return Ok(());
        }
        if low.shape == Shape::Declared || high.shape == Shape::Declared {
            for (side, at, node) in [(&self.low, low_at, &low), (&self.high, high_at, &high)] {
                if node.shape == Shape::Declared && work.is_of_interface {
                    work.declared.extend(self.declared_in(side, at, &what)?);
                }
            }
            return Ok(());
        }
        if low.shape != high.shape {
            return Err(self.differ(&what, low.shape.word(), high.shape.word()));
        }
        for (side, at) in [(&self.low, low_at), (&self.high, high_at)] {
            if low.shape == Shape::Struct && side.reader.index.unit(at)?.is_without_alignment {
                let reason =
                    "its debug information has no alignments; build with -gdwarf-5, or a GCC from 8 on";
                return Err(Unequal::Unknown(reason.to_owned()));
            }
        }
        let facts = self.facts(&low, &high);
        if let Some(text) = facts {
            return Err(Unequal::Difference(Difference { text: format!("{what}: {text}") }));
        }
        if low.edges.len() != high.edges.len() {
            let count = |node: &Node<'_>| format!("{} parts", node.edges.len());
            return Err(self.differ(&what, &count(&low), &count(&high)));
        }
        for (low_edge, high_edge) in low.edges.iter().zip(&high.edges) {
            if low_edge.label.what != high_edge.label.what || name_differs(low_edge, high_edge) {
                let (low, high) = (edge_text(&low_edge.label), edge_text(&high_edge.label));
                return Err(self.differ(&what, &low, &high));
            }
            self.edge(low_edge, high_edge, work)?;
            if low.shape == Shape::Function && ["parameter", "return value"].contains(&low_edge.label.what) {
                self.passing(&what, low_edge, high_edge)?;
            }
        }
        Ok(())
    }

    /// Whether users of the library cannot see a typedef of the lower level.
    fn is_hidden_typedef(&self, at: At) -> bool {
        let (Some(headers), Ok(die)) = (self.headers, self.low.reader.entry(at)) else { return false };
        let index = self.low.reader.index;
        let (Some(name), Some(file)) = (index.name(at, &die), index.file(at, &die)) else { return false };
        die.tag() == gimli::DW_TAG_typedef && !headers.show_typedef(file, name)
    }

    /// Whether users of the library cannot see what a type is made of.
    fn is_hidden(&self, node: &Node<'a>) -> bool {
        let (Some(headers), Some(name), Some(file)) = (self.headers, node.name, node.file) else {
            return false;
        };
        [Shape::Struct, Shape::Union, Shape::Enum].contains(&node.shape) && !headers.show(file, name)
    }

    /// The facts of two types that are not equal.
    fn facts(&self, low: &Node<'a>, high: &Node<'a>) -> Option<String> {
        const SHOWN: usize = 3;
        if low.facts == high.facts {
            return None;
        }
        let mut texts = Vec::new();
        let labels: Vec<Label<'a>> = low.facts.iter().chain(&high.facts).map(|fact| fact.0).collect();
        for (at, label) in labels.iter().enumerate() {
            let of = |node: &Node<'a>| -> Vec<Value<'a>> {
                node.facts.iter().filter(|fact| fact.0 == *label).map(|fact| fact.1).collect()
            };
            let (low, high) = (of(low), of(high));
            if low != high && !labels[..at].contains(label) {
                texts.push(format!(
                    "{} {} at {}, {} at {}",
                    label_text(label),
                    values_text(&low),
                    self.low.level,
                    values_text(&high),
                    self.high.level
                ));
            }
            // The size of a type, and what has moved first, says enough.
            if texts.len() == SHOWN {
                break;
            }
        }
        if texts.is_empty() {
            texts.push("its parts are in another order".to_owned());
        }
        Some(texts.join(", "))
    }

    /// Whether a value is passed in another place, because the level has registers that are as wide as it is.
    fn passing(&self, what: &str, low: &Edge<'a>, high: &Edge<'a>) -> Result<(), Unequal> {
        let (Some(bytes), Some(_)) =
            (self.low.reader.vector_bytes(low)?, self.high.reader.vector_bytes(high)?)
        else {
            return Ok(());
        };
        let has =
            |feature: Feature| (self.low.features.contains(feature), self.high.features.contains(feature));
        let (low_has, high_has) = match (self.arch, bytes) {
            (Arch::X86_64, 32) => has(Feature::AVX),
            (Arch::X86_64, 64) => has(Feature::AVX512F),
            (Arch::Aarch64, 0 | 17..) => has(Feature::FEAT_SVE),
            _ => return Ok(()),
        };
        if low_has == high_has {
            return Ok(());
        }
        let part = format!("{what}: {} of {bytes} bytes in a vector", edge_text(&low.label));
        match self.arch {
            Arch::X86_64 => {
                let place = |has: bool| if has { "in a register" } else { "in memory" };
                Err(self.differ(&part, place(low_has), place(high_has)))
            }
            Arch::Aarch64 => {
                Err(Unequal::Unknown(format!("{part} may be passed in another register with SVE")))
            }
        }
    }

    /// The name of a type that is only declared; nothing where no build can know more of it.
    fn declared_in(&self, side: &Side<'a, 'i>, at: At, what: &str) -> Result<Option<u32>, Unequal> {
        let index = side.reader.index;
        let Some(id) = index.declared.get(&at).copied() else {
            return Err(Unequal::Unknown(format!("{what} is declared in a unit that is not there")));
        };
        let is_defined =
            [&self.low, &self.high].iter().any(|it| it.reader.index.definitions.contains_key(&id));
        let is_c = index.unit(at)?.is_c;
        let has_bare_code = self.low.has_bare_code || self.high.has_bare_code;
        if is_defined || (is_c && !has_bare_code) || self.names.is_of_the_system(id) {
            return Ok(is_defined.then_some(id));
        }
        if is_c {
            return Err(Unequal::Unknown(format!(
                "{} is only declared, and some code was built without -g, which may define it",
                self.names.text(id)
            )));
        }
        Err(Unequal::Unknown(format!(
            "{} is only declared, which in C++ does not say that its definition is unknown here; clang needs -fstandalone-debug",
            self.names.text(id)
        )))
    }
}

/// Whether two edges are of members with other names.
fn name_differs(low: &Edge<'_>, high: &Edge<'_>) -> bool {
    low.label.what == "member" && low.label.of != high.label.of
}

fn edge_text(label: &Label<'_>) -> String {
    match label.of {
        [] => label.what.to_owned(),
        of => format!("{} {}", label.what, String::from_utf8_lossy(of)),
    }
}

fn label_text(label: &Label<'_>) -> String {
    match label.of {
        [] => label.what.to_owned(),
        of => format!("{} of {}", label.what, String::from_utf8_lossy(of)),
    }
}

fn values_text(values: &[Value<'_>]) -> String {
    let texts = values.iter().map(|value| match value {
        Value::Number(number) => number.to_string(),
        Value::Bytes(bytes) if bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::Varying => "not constant".to_owned(),
    });
    match values {
        [] => "none".to_owned(),
        _ => texts.collect::<Vec<_>>().join(" and "),
    }
}

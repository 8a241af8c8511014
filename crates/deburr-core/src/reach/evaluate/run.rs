//! A run: the whole program on one model, as equations over nodes.
//!
//! A node is a block in a context; a context is a function with those of its arguments that are constants. What a call returns,
//! and what it stores in its callers' frames, belongs to the context. Roots are entered with anything in their registers.

use super::limits::{
    MAX_CHEAP_CONTEXTS, MAX_CONTEXTS, MAX_WORD_CHANGES, MAX_WORD_JOINS, VISITS_BEFORE_WIDENING,
};
use super::state::{Effect, Merging, State, Word, Written};
use crate::engine::domain::Domain;
use crate::engine::solver::{Equations, NodeId, Outcome, Worklist, solve};
use crate::image::Kind;
use crate::insn::operations::VECTORS;
use crate::reach::abi::Abi;
use crate::reach::cpu::Model;
use crate::reach::demand::Demand;
use crate::reach::memory::file::{File, Target};
use crate::reach::memory::{Escape, Memory};
use crate::reach::value::pool::{Pool, Value};
use crate::reach::value::region;
use deburr_cpu::Arch;
use rustc_hash::{FxHashMap, FxHashSet};

/// A context by its number.
pub(crate) type ContextId = u32;

/// What distinguishes the contexts of a function: its arguments that are constants, and of an allocator the call. Empty for the one
/// that serves all other callers.
type ContextKey = Vec<Option<u64>>;

/// How sure it is that control comes to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Certainty {
    /// Only by a value that was lost, or that rests on an open answer.
    Doubtful,
    /// Only if a function is called whose address was lost.
    Lost,
    /// By calls, and by branches that are decided or that the input decides.
    Certain,
}

impl Certainty {
    /// How far an address goes out of sight that is handed over here.
    pub(super) const fn escape(self) -> Escape {
        match self {
            Certainty::Doubtful | Certainty::Lost => Escape::Lost,
            Certainty::Certain => Escape::Foreign,
        }
    }
}

/// How control comes to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// From where; `None` from outside.
    pub from: Option<NodeId>,
    /// How sure it is, once control is there.
    pub certainty: Certainty,
    /// The context of a call that it comes back from.
    pub through: Option<ContextId>,
    /// Which evaluation of the start found it last.
    pub visit: u32,
}

/// A block in a context.
#[derive(Debug)]
pub(crate) struct Node {
    pub context: ContextId,
    pub at: u64,
    pub state: State,
    pub certainty: Certainty,
    visits: u32,
    /// Words that it has read and nothing was seen to store to.
    pub bottoms: Vec<u64>,
    /// Whether control goes nowhere yet, because of such a word.
    pub is_stuck: bool,
    /// Where control came from first, with the certainty that it has.
    pub parent: Option<NodeId>,
    /// How control comes there, each way by the last evaluation of where it is from.
    pub ways: Vec<Way>,
    /// Whether the function returns from there.
    pub returns: bool,
}

/// A function with what it is called with.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub function: u64,
    pub nodes: FxHashMap<u64, NodeId>,
    pub callers: FxHashSet<NodeId>,
    pub returned: Option<[Value; 2]>,
    /// Whether some path surely returns.
    pub surely_returns: bool,
    pub clobbers: u64,
    pub throws: bool,
    /// Whether some path surely throws.
    pub surely_throws: bool,
    /// Whether the address of its frame went somewhere: stores to it are then seen by others.
    pub is_leaked: bool,
    /// Whether that address is kept: others may write there at any time.
    pub is_shared: bool,
    /// Objects in its frame that went out of sight.
    pub escaped: Vec<Escaped>,
    /// What was stored at an unknown offset of an object in its frame: from, to, value, bytes.
    pub smeared: Vec<(i32, i32, Value, u8)>,
    /// Whether it reads what its callers have put on the stack.
    pub reads_stack: bool,
    pub effects: Vec<Effect>,
    /// The same on paths that throw.
    pub thrown: Vec<Effect>,
    /// Offsets in its frame whose address is taken.
    pub taken: Vec<i32>,
    /// Words that the loader fills with what it returns.
    pub resolves: Vec<u64>,
    /// Whether code of another file gets what it returns.
    pub returns_outside: bool,
    /// Which of its two results anybody reads.
    pub wanted: [bool; 2],
    /// The words of the file's data that it may write, with what it calls.
    pub written: Written,
    /// What is known of such words wherever it returns, if it does.
    pub returned_words: Option<Vec<Word>>,
    /// What it was last called with, and how often both have changed.
    pub handed_words: Vec<Word>,
    pub word_changes: u32,
}

/// An object in a frame whose address went out of sight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Escaped {
    /// Its offset in the frame.
    pub start: i32,
    /// Its bytes, if whoever has the address goes no further.
    pub bytes: Option<i32>,
    pub how: Escape,
}

/// What a call leaves.
#[derive(Debug, Clone)]
pub(crate) struct Returned {
    pub values: [Value; 2],
    pub clobbers: u64,
    /// How sure it is that control comes back: for now, and if the context of the call does.
    pub certainty: Certainty,
    pub through: Option<ContextId>,
    /// The words of the file's data that it may have written, and what is known of some.
    pub written: Written,
    pub words: Vec<Word>,
}

/// The whole program on one model.
pub(crate) struct Run<'r, 'f, 'a> {
    pub(crate) file: &'r File<'f, 'a>,
    pub(super) abi: &'static Abi,
    pub(super) demand: &'r Demand,
    pub(crate) model: Model,
    pub(crate) pool: Pool,
    pub(crate) memory: Memory,
    pub(crate) contexts: Vec<Context>,
    by_function: FxHashMap<u64, Vec<(ContextKey, ContextId)>>,
    pub(crate) nodes: Vec<Node>,
    worklist: Worklist,
    /// By context and call, what it has allocated.
    pub(crate) allocations: FxHashMap<(ContextId, u64), u64>,
    /// Functions whose address went out of sight, and how.
    pub(crate) escaped_code: FxHashMap<u64, (Escape, Certainty)>,
    /// The same with the nodes that it happens in.
    pub(super) escaped_in: FxHashSet<(Option<NodeId>, u64)>,
    pub(super) arguments: FxHashMap<u64, u64>,
    pub(super) allocators: FxHashMap<u64, bool>,
    pub(super) small: FxHashMap<u64, bool>,
    /// By block, the registers that are live where it begins.
    pub(super) live: FxHashMap<u64, u64>,
    /// Functions with too many blocks for that: each register counts as live.
    pub(super) without_liveness: FxHashSet<u64>,
    /// The node that is evaluated.
    pub(super) current: Option<NodeId>,
    /// What comes from outside the program. Callers of a shared object may hand back what it has told them of the CPU, so there
    /// it rests on open answers.
    pub(super) outside: Value,
    /// What functions of the C library read for the program. A file of the kernel's may describe the CPU.
    pub(super) told: Value,
    /// Whether the program handles the signal of an instruction that the CPU does not have: it may try some.
    pub(crate) handles_illegal: bool,
    /// What the current node's evaluation has cost beyond its operations.
    pub(super) extra_cost: u64,
    /// By offset and bytes, what the current node has stored to its own frame, and others will see.
    pub(super) unpublished: Vec<(i32, u8)>,
    /// What is not evaluated, and whose data counts as read and written.
    pub(super) exposed: FxHashSet<u32>,
}

impl<'r, 'f, 'a> Run<'r, 'f, 'a> {
    pub(crate) fn new(
        file: &'r File<'f, 'a>,
        demand: &'r Demand,
        pool: Pool,
        model: Model,
    ) -> Run<'r, 'f, 'a> {
        let is_told = file.names_description();
        Run {
            file,
            abi: Abi::of(file.image.arch),
            demand,
            model,
            pool,
            memory: Memory::default(),
            contexts: Vec::new(),
            by_function: FxHashMap::default(),
            nodes: Vec::new(),
            worklist: Worklist::default(),
            allocations: FxHashMap::default(),
            escaped_code: FxHashMap::default(),
            escaped_in: FxHashSet::default(),
            arguments: FxHashMap::default(),
            allocators: FxHashMap::default(),
            small: FxHashMap::default(),
            live: FxHashMap::default(),
            without_liveness: FxHashSet::default(),
            current: None,
            outside: Value::TOP
                .opened(is_told || file.image.kind == Kind::SharedObject || file.is_handed_auxv()),
            told: Value::TOP.opened(is_told),
            handles_illegal: false,
            extra_cost: 0,
            unpublished: Vec::new(),
            exposed: FxHashSet::default(),
        }
    }

    /// Evaluates until nothing changes, or the budget is spent. Returns how it ended, and what it cost.
    pub(crate) fn solve(&mut self, budget: u64) -> (Outcome, u64) {
        self.settle_losses();
        solve(self, budget)
    }

    pub(super) const fn arch(&self) -> Arch {
        self.file.image.arch
    }

    /// How sure it is that control comes to what is evaluated.
    pub(super) fn current_certainty(&self) -> Certainty {
        let node = self.current.and_then(|node| self.nodes.get(node as usize));
        node.map_or(Certainty::Certain, |node| node.certainty)
    }

    pub(super) fn enqueue(&mut self, node: NodeId) {
        let Some(it) = self.nodes.get(node as usize) else { return };
        // Callees before callers, and within a function by address.
        let rank = u64::from(u32::MAX - it.context) << 32 | (it.at & 0xffff_ffff);
        self.worklist.add(rank, node);
    }

    fn enqueue_all(&mut self, nodes: Option<Vec<NodeId>>) {
        for node in nodes.unwrap_or_default() {
            self.enqueue(node);
        }
    }

    /// Evaluates all nodes of a context again.
    pub(super) fn enqueue_context(&mut self, context: ContextId) {
        let context = self.contexts.get(context as usize);
        self.enqueue_all(context.map(|it| it.nodes.values().copied().collect()));
    }

    pub(super) fn wake_callers(&mut self, context: ContextId) {
        let context = self.contexts.get(context as usize);
        self.enqueue_all(context.map(|it| it.callers.iter().copied().collect()));
    }

    /// Control comes to a block with a state. `way`: how sure that is, once control is where it comes from.
    pub(super) fn flow(&mut self, context: ContextId, at: u64, state: &State, way: Certainty) {
        let way = self.way(way, None);
        self.flow_by(context, at, state, (way, way.certainty));
    }

    /// The way from the node that is evaluated.
    pub(super) fn way(&self, certainty: Certainty, through: Option<ContextId>) -> Way {
        let node = self.current.and_then(|node| self.nodes.get(node as usize));
        Way { from: self.current, certainty, through, visit: node.map_or(0, |node| node.visits) }
    }

    /// The same by some way. `certainty`: how sure it is for now.
    pub(super) fn flow_by(
        &mut self,
        context: ContextId,
        at: u64,
        state: &State,
        (way, certainty): (Way, Certainty),
    ) {
        let certainty = certainty.min(self.current_certainty());
        let Some(it) = self.contexts.get(context as usize) else { return };
        let (known, function, wanted) = (it.nodes.get(&at).copied(), it.function, it.wanted);
        let parent = self.current;
        let mut state = state.clone();
        let live = self.live_in(function, at);
        state.keep_live(self.live_registers(live, wanted));
        let Some(id) = known else {
            let id = self.nodes.len() as NodeId;
            let node = Node {
                context,
                at,
                state,
                certainty,
                visits: 0,
                bottoms: Vec::new(),
                is_stuck: false,
                parent,
                ways: vec![way],
                returns: false,
            };
            self.nodes.push(node);
            if let Some(context) = self.contexts.get_mut(context as usize) {
                context.nodes.insert(at, id);
            }
            self.enqueue(id);
            return;
        };
        let Some(node) = self.nodes.get_mut(id as usize) else { return };
        match node.ways.iter_mut().find(|known| (known.from, known.through) == (way.from, way.through)) {
            Some(known) if known.visit == way.visit => known.certainty = known.certainty.max(way.certainty),
            Some(known) => *known = way,
            None => node.ways.push(way),
        }
        let widens = node.visits > VISITS_BEFORE_WIDENING;
        let mut changed = match certainty != Certainty::Certain {
            true => node.state.merge(&state, &mut self.pool, Merging { widens, is_doubt: true }),
            false if widens => node.state.widen(&state, &mut self.pool),
            false => node.state.join(&state, &mut self.pool),
        };
        if certainty > node.certainty {
            (node.certainty, node.parent, changed) = (certainty, parent, true);
        }
        if changed {
            self.enqueue(id);
        }
    }

    /// The context of a call.
    fn context(&mut self, function: u64, state: &State, call: u64) -> ContextId {
        let read = self.arguments_of(function, 0);
        let mut key: ContextKey = Vec::new();
        for &number in self.abi.arguments {
            let constant = self.pool.as_constant(state.register(number));
            key.push(constant.filter(|_| read >> number & 1 == 1));
        }
        let allocates = self.allocates(function, 0);
        key.push(allocates.then_some(call));
        let limit = match allocates || self.is_small(function) {
            true => MAX_CHEAP_CONTEXTS,
            false => MAX_CONTEXTS,
        };
        let id = self.contexts.len() as ContextId;
        let known = self.by_function.entry(function).or_default();
        if let Some((_, context)) = known.iter().find(|it| it.0 == key) {
            return *context;
        }
        if known.len() >= limit {
            key.clear();
            if let Some((_, context)) = known.iter().find(|it| it.0.is_empty()) {
                return *context;
            }
        }
        known.push((key, id));
        self.contexts.push(Context { function, ..Context::default() });
        id
    }

    /// Control enters a function of the file.
    pub(super) fn enter(
        &mut self,
        function: u64,
        state: &State,
        certainty: Certainty,
        call: u64,
    ) -> ContextId {
        let context = self.context(function, state, call);
        let read = self.arguments_of(function, 0);
        let mut entry = State::top();
        for number in 0..VECTORS {
            if read >> number & 1 == 1 {
                entry.set(number, state.register(number));
            }
        }
        let frame = self.pool.constant(region::frame(context));
        entry.set(self.abi.stack_pointer, frame);
        entry.words = self.handed_words(context, state);
        self.flow(context, function, &entry, certainty);
        context
    }

    /// The words of the file's data that are known across calls, unless something else may have run. Words of features, to which bit
    /// after bit is added, would change every time.
    pub(super) fn carried_words(&self, state: &State) -> Vec<Word> {
        if self.file.runs_in_parallel() {
            return Vec::new();
        }
        let is_carried =
            |word: &&Word| self.pool.is_few(word.2) || self.memory.joins(word.0) <= MAX_WORD_JOINS;
        state.words.iter().filter(is_carried).copied().collect()
    }

    /// Those that a context knows from where it is called.
    fn handed_words(&mut self, context: ContextId, state: &State) -> Vec<Word> {
        let known = self.carried_words(state);
        let Some(it) = self.contexts.get_mut(context as usize) else { return Vec::new() };
        if it.handed_words != known && it.word_changes <= MAX_WORD_CHANGES {
            it.word_changes += 1;
            it.handed_words = known;
        }
        if it.word_changes > MAX_WORD_CHANGES {
            it.handed_words.clear();
        }
        it.handed_words.clone()
    }

    /// A context may write some words of the file's data.
    pub(super) fn note_written(&mut self, context: ContextId, written: &Written) {
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        if it.written.add_all(written) {
            self.wake_callers(context);
        }
    }

    /// The loader, or code of another file, calls a function with these arguments. Returns the context that it enters, unless the
    /// function is irrelevant.
    pub(crate) fn root(
        &mut self,
        address: u64,
        certainty: Certainty,
        arguments: &[Value],
    ) -> Option<ContextId> {
        if let Some(irrelevant) = self.demand.irrelevant(self.file, address) {
            self.expose_data(irrelevant.number);
            return None;
        }
        self.enter_root(address, certainty, arguments)
    }

    fn enter_root(&mut self, address: u64, certainty: Certainty, arguments: &[Value]) -> Option<ContextId> {
        let mut state = State::top();
        state.registers = [self.outside; 32];
        for (place, &value) in arguments.iter().enumerate() {
            state.set(self.abi.argument(place), value);
        }
        match self.file.target(address) {
            Target::Code(function) => {
                let context = self.enter(function, &state, certainty, 0);
                // What others get of the second is not followed: see `returns_outside`.
                self.want_results(context, [true, false]);
                Some(context)
            }
            Target::Word(_) => None,
        }
    }

    /// The loader calls a resolver.
    pub(crate) fn resolver(&mut self, resolver: u64) -> Option<ContextId> {
        let handed = self.resolver_arguments();
        self.enter_root(resolver, Certainty::Certain, &handed)
    }

    /// The same, and it fills some word with what the resolver returns.
    pub(crate) fn resolved_word(&mut self, resolver: u64, word: u64) {
        let Some(context) = self.resolver(resolver) else { return };
        if let Some(it) = self.contexts.get_mut(context as usize)
            && !it.resolves.contains(&word)
        {
            it.resolves.push(word);
            let returned = it.returned;
            if let Some([value, _]) = returned {
                self.memory.store(&mut self.pool, word, 8, value);
            }
        }
    }

    /// Code of another file gets what a function returns.
    pub(crate) fn returns_outside(&mut self, context: ContextId) {
        let Some(it) = self.contexts.get_mut(context as usize) else { return };
        if !std::mem::replace(&mut it.returns_outside, true)
            && let Some([value, _]) = it.returned
        {
            self.escape(value, Escape::Foreign);
        }
    }

    /// What was woken, and what was lost, since the last time.
    fn settle_losses(&mut self) {
        loop {
            for node in std::mem::take(&mut self.memory.woken) {
                self.enqueue(node);
            }
            let lost = std::mem::take(&mut self.pool.lost);
            if lost.is_empty() && self.memory.woken.is_empty() {
                return;
            }
            for address in lost {
                self.share(address);
                self.escape_address(address, Escape::Lost);
            }
        }
    }
}

impl Equations for Run<'_, '_, '_> {
    fn worklist(&mut self) -> &mut Worklist {
        &mut self.worklist
    }

    fn evaluate(&mut self, node: NodeId) -> u64 {
        self.current = Some(node);
        self.extra_cost = 0;
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.visits += 1;
        }
        let cost = self.evaluate_block(node);
        self.settle_losses();
        self.current = None;
        cost + self.extra_cost + std::mem::take(&mut self.memory.cost)
    }

    /// What waits for a word that nothing is seen to store to gets a lost value.
    fn idle(&mut self) -> Option<u64> {
        let mut any = false;
        for index in 0..self.nodes.len() {
            let Some(node) = self.nodes.get_mut(index) else { continue };
            let bottoms = std::mem::take(&mut node.bottoms);
            let is_stuck = node.is_stuck;
            let before = self.memory.forced.len();
            self.memory.forced.extend(bottoms);
            if self.memory.forced.len() > before || is_stuck && any {
                any = true;
                self.enqueue(index as NodeId);
            }
        }
        // All nodes were looked at.
        any.then(|| self.nodes.len() as u64 / 8 + 1)
    }
}

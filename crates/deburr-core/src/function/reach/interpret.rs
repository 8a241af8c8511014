//! Runs a function on what is known instead of on numbers: which tests stand before each of its blocks.
//!
//! In: a function, and the words of memory whose meaning is known. Out: [`Facts`]: what each block may rely on, what
//! the function stores and returns, and where it lets addresses out. Functions that ask the CPU are run inside their
//! callers, since leaf and place of the answer come in as arguments.

use super::World;
use super::lanes::{self, Halves};
use super::memory::Memory;
use super::names;
use super::proof::Proof;
use super::state::{Flags, Holder, State, Subject, stack_pointer};
use super::value::{Outcome, Value};
use super::words;
use crate::address::Svma;
use crate::function::Function;
use crate::function::block::{Block, Graph};
use crate::insn::sweep::CodeOffset;
use crate::insn::{Class, Condition, Flow, Insn, Lanes, Memory as Operand, Operation, Reg, RegSet};
use deburr_cpu::{Arch, FeatureSet};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Functions inside functions at most.
const DEPTH: u32 = 6;
/// How often a block is run before it is given up.
const VISITS: u32 = 16;
/// How often a block is run before what each round of a loop counts on is taken for any number.
const ROUNDS: u32 = 8;
/// Runs of blocks at most in one function, those inside it included.
const STEPS: u32 = 4096;

/// Places at most that jumps through tables lead to, before the rest is not looked for.
const MOST_ENTERED: usize = 32;

/// What is known at a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockFacts {
    /// Its first instruction.
    pub start: CodeOffset,
    /// What tests in this function have proven on every way to it; `None`: no way leads there.
    pub proof: Option<Proof>,
    /// The last branch that proved something.
    pub check: Option<Svma>,
}

/// Something that a function stores where others find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    /// Where.
    pub at: u64,
    /// In how many bytes.
    pub width: u8,
    /// What, with what is proven there.
    pub value: Value,
    /// Features that are missing there.
    pub absent: FeatureSet,
}

/// What becomes of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum UseKind {
    /// Called or jumped to.
    Called,
    /// Stored in the word at an address.
    Stored(u64),
    /// Returned.
    Returned,
    /// Stored elsewhere, or passed on.
    LetOut,
}

/// An address of this file that a function lets out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Use {
    /// The address, of code or of data.
    pub address: Svma,
    /// Where.
    pub from: Svma,
    /// What becomes of it.
    pub kind: UseKind,
    /// What is proven where it is used.
    pub proof: Proof,
    /// The last branch that proved something.
    pub check: Option<Svma>,
}

/// What running a function tells.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Its blocks, by address.
    pub blocks: Vec<BlockFacts>,
    /// What is known at jumps out of the function, when they are taken, by the jump.
    pub exits: Vec<(CodeOffset, BlockFacts)>,
    /// Offsets in structures of unknown place at which it stores flags after a check.
    pub fields: BTreeSet<i64>,
    /// What it stores in words of known place.
    pub stores: Vec<Stored>,
    /// Addresses that it lets out.
    pub uses: Vec<Use>,
    /// What it returns.
    pub returned: Value,
    /// What all of this depends on.
    pub inputs: Inputs,
}

/// What a run of a function asked of what is known of the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Inputs {
    /// The words that it loaded, by address and width in bytes.
    pub words: BTreeSet<(u64, u8)>,
    /// The functions that it called without running them.
    pub callees: BTreeSet<CodeOffset>,
}

impl Facts {
    /// What is known when control leaves from an offset.
    pub(super) fn leaving(&self, at: CodeOffset) -> Option<&BlockFacts> {
        let exit = self.exits.binary_search_by_key(&at, |exit| exit.0).ok();
        exit.and_then(|index| self.exits.get(index)).map(|(_, facts)| facts).or_else(|| self.at(at))
    }

    /// What is known at an offset.
    pub(super) fn at(&self, at: CodeOffset) -> Option<&BlockFacts> {
        let after = self.blocks.partition_point(|block| block.start <= at);
        self.blocks.get(after.checked_sub(1)?)
    }
}

/// Where an operand lies.
#[derive(Clone, Copy)]
enum Place {
    Static(u64),
    Frame(i64),
    /// So many bytes from an address that is not known.
    Field(i64),
    Elsewhere,
}

/// An address or a flag stored in a structure of unknown place.
struct Beside {
    base: Reg,
    at: i64,
    /// The use that the address made, by its place among all uses.
    used: Option<usize>,
    /// What the flag tells when it is set.
    proof: Proof,
}

/// Where a block goes on, and what is known there.
enum Onward {
    /// To a block.
    To(usize, State),
    /// To any block that nothing else leads to; whether an answer of the CPU chooses.
    Anywhere(bool, State),
}

/// One function being run.
struct Run<'r, 'w, 'a> {
    world: &'r World<'w, 'a>,
    memory: &'r Memory,
    depth: u32,
    facts: Facts,
    /// Blocks run so far.
    steps: u32,
    /// What the block has stored in structures of unknown place.
    beside: Vec<Beside>,
    /// The words that it has loaded, by address and width in bytes.
    words: RefCell<BTreeSet<(u64, u8)>>,
    /// Where the function comes back to its caller, all ways joined.
    exit: Option<State>,
    /// Where jumps through tables lead.
    entered: BTreeSet<Svma>,
}

/// Runs a function from its start or from another entry; `None` if it is too large.
pub(super) fn interpret(
    world: &World<'_, '_>,
    memory: &Memory,
    function: &Function,
    from: CodeOffset,
) -> Option<Facts> {
    let mut entered = BTreeSet::new();
    let run = loop {
        let count = entered.len();
        let mut run = Run {
            world,
            memory,
            depth: 0,
            facts: Facts::default(),
            steps: 0,
            beside: Vec::new(),
            words: RefCell::default(),
            exit: None,
            entered,
        };
        run.function(function, from, words::entry_state(world, from))?;
        // Blocks begin where tables lead: again, with those.
        if run.entered.len() == count || count > MOST_ENTERED {
            break run;
        }
        entered = std::mem::take(&mut run.entered);
    };
    let mut facts = run.facts;
    facts.inputs.words = run.words.into_inner();
    // A jump that was run again knows less each time; the last counts.
    facts.exits.reverse();
    facts.exits.sort_by_key(|exit| exit.0);
    facts.exits.dedup_by_key(|exit| exit.0);
    let returns = Reg::general(0);
    facts.returned = run.exit.map_or(Value::none(), |exit| exit.read(returns).under(exit.proof()));
    Some(facts)
}

impl Run<'_, '_, '_> {
    fn function(&mut self, function: &Function, from: CodeOffset, entry: State) -> Option<()> {
        let entered: Vec<Svma> = self.entered.iter().copied().collect();
        let graph = self.world.graph_entered(function, &entered)?;
        let count = graph.blocks.len();
        let orphans: Vec<usize> = graph.orphans();
        let mut states: Vec<Option<State>> = vec![None; count];
        let mut visits = vec![0u32; count];
        let mut pending: BTreeSet<usize> = BTreeSet::new();
        let first = graph.find(self.world.image.svma(from)).map_or(0, |(block, _)| block);
        *states.get_mut(first)? = Some(entry);
        pending.insert(first);
        // What every call may continue with when the callee throws.
        let mut thrown: Option<State> = None;
        loop {
            while let Some(block) = pending.pop_first() {
                let Some(state) = states.get(block).cloned().flatten() else { continue };
                self.steps += 1;
                if let Some(visits) = visits.get_mut(block) {
                    *visits += 1;
                    if *visits > VISITS || self.steps > STEPS {
                        // What is not followed to its end may prove more.
                        *visits = VISITS + 1;
                        continue;
                    }
                }
                let (edges, calls) = self.block(&graph, block, state);
                if let Some(call) = calls {
                    match &mut thrown {
                        Some(thrown) => drop(thrown.join(&call)),
                        None => thrown = Some(call),
                    }
                }
                for edge in edges {
                    let (targets, state) = match &edge {
                        Onward::To(to, state) => (vec![*to], state),
                        Onward::Anywhere(_, state) => (orphans.clone(), state),
                    };
                    let is_chosen = matches!(&edge, Onward::Anywhere(true, _));
                    for to in targets {
                        let start = graph.blocks.get(to).map_or(Svma(0), Block::start);
                        let doubt = Outcome { proven: Proof::doubt(is_chosen), ..Outcome::default() };
                        // By the target, so that what follows the choice is free of the doubt again.
                        let state =
                            if is_chosen { state.after(&doubt, start, true) } else { Some(state.clone()) };
                        let is_loop = visits.get(to).is_some_and(|&visits| visits >= ROUNDS);
                        if state.is_some_and(|state| arrive(&mut states, to, &state, is_loop)) {
                            pending.insert(to);
                        }
                    }
                }
            }
            // Landing pads: nothing in the function jumps to them, an indirect jump may seem to.
            let Some(state) = thrown.take() else { break };
            for &orphan in &orphans {
                if states.get(orphan).is_some_and(Option::is_none) {
                    arrive(&mut states, orphan, &state, false);
                    pending.insert(orphan);
                }
            }
            if pending.is_empty() {
                break;
            }
        }
        if self.depth == 0 {
            let is_cut = self.steps > STEPS;
            let has_tests = states.iter().flatten().any(|state| !state.proof().is_empty());
            // What the run did not come to, because it was cut short, may well be reached.
            let beyond = is_cut.then_some(Proof::doubt(has_tests));
            self.facts.blocks = (graph.blocks.iter().zip(&states).zip(&visits))
                .filter_map(|((block, state), visits)| {
                    let doubt = Proof::doubt(*visits > VISITS);
                    Some(BlockFacts {
                        start: self.world.image.code_offset(block.start())?,
                        proof: state.as_ref().map(|state| state.proof().union(doubt)).or(beyond),
                        check: state.as_ref().and_then(|state| state.check),
                    })
                })
                .collect();
        }
        Some(())
    }

    /// Runs a block. Out: where it goes on, and what is known at its calls.
    fn block(&mut self, graph: &Graph, index: usize, mut state: State) -> (Vec<Onward>, Option<State>) {
        let Some(block) = graph.blocks.get(index) else { return (Vec::new(), None) };
        let mut at_call = None;
        self.beside.clear();
        for insn in &block.insns {
            match insn.flow {
                Flow::Call(_) | Flow::IndirectCall => {
                    at_call = Some(state.clone());
                    match self.call(insn, state) {
                        Some(after) => state = after,
                        None => return (Vec::new(), at_call),
                    }
                }
                Flow::Return => {
                    self.leave(insn, state);
                    return (Vec::new(), at_call);
                }
                Flow::Stop => return (Vec::new(), at_call),
                _ => self.step(insn, &mut state),
            }
        }
        let Some(last) = block.last() else { return (Vec::new(), at_call) };
        let place = |svma: Svma| graph.find(svma).filter(|&(_, insn)| insn == 0).map(|(block, _)| block);
        let mut edges = Vec::new();
        match last.flow {
            Flow::Branch(target) => {
                let (taken, passed) = self.branch(last, &state);
                let taken = state.after(&taken, last.svma, true).map(|state| narrowed(last, state, true));
                let passed = state.after(&passed, last.svma, false).map(|state| narrowed(last, state, false));
                if let Some(state) = taken {
                    match place(target) {
                        Some(to) => edges.push(Onward::To(to, state)),
                        None => self.tail(last, target, state),
                    }
                }
                if let (Some(to), Some(state)) = (place(last.next()), passed) {
                    edges.push(Onward::To(to, state));
                }
            }
            Flow::Jump(target) => match place(target) {
                Some(to) => edges.push(Onward::To(to, state)),
                None => self.tail(last, target, state),
            },
            Flow::IndirectJump => {
                let mut state = state;
                let target = self.target(last, &state);
                self.let_out(&target, last, UseKind::Called, &state);
                match self.through_table(graph, &target, last, &state) {
                    Some(all) => edges.extend(all),
                    None => {
                        // It may seem to lead to landing pads, where these registers hold the exception.
                        for reg in names::thrown(self.world.image.arch) {
                            if !state.read(reg).is_telling() {
                                state.write(reg, Value::Unknown);
                            }
                        }
                        if !graph.blocks.iter().skip(1).any(|block| block.predecessors.is_empty()) {
                            self.tail_to_pointer(last, state.clone());
                        }
                        edges.push(Onward::Anywhere(target.is_telling(), state));
                    }
                }
            }
            _ => {
                if let Some(to) = place(last.next()) {
                    edges.push(Onward::To(to, state));
                }
            }
        }
        (edges, at_call)
    }

    /// Where a jump goes whose every target is known, with what is proven where it goes there; `None` if one is not.
    fn through_table(
        &mut self,
        graph: &Graph,
        target: &Value,
        jump: &Insn,
        state: &State,
    ) -> Option<Vec<Onward>> {
        if target.choices().is_empty() {
            return None;
        }
        let mut all = Vec::new();
        let mut is_split = true;
        for &(to, proven) in target.choices() {
            let to = Svma(to);
            self.world.image.code_offset(to)?;
            let outcome = Outcome { proven, ..Outcome::default() };
            let Some(state) = state.after(&outcome, jump.svma, true) else { continue };
            match graph.find(to) {
                Some((block, 0)) => all.push(Onward::To(block, state)),
                // Cases that run into the next one.
                Some(_) => {
                    self.entered.insert(to);
                    is_split = false;
                }
                None => self.tail_to_pointer(jump, state),
            }
        }
        is_split.then_some(all)
    }

    /// A jump to another function through a pointer.
    fn tail_to_pointer(&mut self, insn: &Insn, mut state: State) {
        self.clobber(&mut state, None);
        self.leave(insn, state);
    }

    /// A jump to another function: it runs in this one's place.
    fn tail(&mut self, insn: &Insn, target: Svma, state: State) {
        if let Some(start) = self.world.image.code_offset(insn.svma).filter(|_| self.depth == 0) {
            let facts = BlockFacts { start, proof: Some(state.proof()), check: state.check };
            self.facts.exits.push((start, facts));
        }
        let call = Insn { flow: Flow::Call(target), ..*insn };
        if let Some(state) = self.call(&call, state) {
            self.leave(insn, state);
        }
    }

    /// The function comes back.
    fn leave(&mut self, insn: &Insn, state: State) {
        if self.depth == 0 {
            let returned = state.read(Reg::general(0));
            self.let_out(&returned, insn, UseKind::Returned, &state);
        }
        match &mut self.exit {
            Some(exit) => drop(exit.join(&state)),
            None => self.exit = Some(state),
        }
    }

    /// The address that an indirect call or jump goes to.
    fn target(&self, insn: &Insn, state: &State) -> Value {
        match insn.memory {
            Some(memory) => self.load(&memory, state),
            None => {
                let reg = insn.src.into_iter().flatten().next();
                let reg = reg.or_else(|| {
                    (0..31)
                        .map(Reg::general)
                        .find(|&reg| insn.reads.contains(reg) && reg != stack_pointer(self.world.image.arch))
                });
                reg.map_or(Value::Unknown, |reg| state.read(reg))
            }
        }
    }

    /// A call: what is known after it; `None` if it does not come back.
    fn call(&mut self, insn: &Insn, mut state: State) -> Option<State> {
        let world = self.world;
        let target = match insn.flow {
            Flow::Call(target) => Some(target),
            _ => {
                let target = self.target(insn, &state);
                self.let_out(&target, insn, UseKind::Called, &state);
                target.as_constant().map(Svma)
            }
        };
        for reg in names::arguments(world.image.arch) {
            let value = state.read(*reg);
            if !value.choices().is_empty() {
                self.let_out(&value, insn, UseKind::LetOut, &state);
            }
            // A structure in the frame, such as that of `sigaction`.
            if let Value::Stack(at) = value {
                for value in state.frame_from(at) {
                    self.let_out(&value, insn, UseKind::LetOut, &state);
                }
            }
        }
        let name = target.and_then(|target| world.name_of(target));
        if name.is_some_and(names::does_not_return) {
            return None;
        }
        if let Some(value) = name.and_then(|name| words::answer(world, name, &state)) {
            self.clobber(&mut state, None);
            state.write(Reg::general(0), value);
            return Some(state);
        }
        let callee = target.and_then(|target| world.called_at(target));
        if let Some(callee) = callee.filter(|callee| self.depth < DEPTH && world.is_run_inside(callee.start))
        {
            return self.run_inside(callee, state);
        }
        let called = callee.map(|callee| world.callee(callee));
        if called.is_some_and(|called| !called.returns) {
            return None;
        }
        self.clobber(&mut state, called.and_then(|called| called.writes));
        if let Some(callee) = callee {
            self.facts.inputs.callees.insert(callee.start);
            if let Some(returned) = world.returns.get(&callee.start) {
                state.write(Reg::general(0), returned.clone());
            }
        }
        Some(state)
    }

    /// Runs a callee with what its caller knows.
    fn run_inside(&mut self, callee: &Function, mut state: State) -> Option<State> {
        let arch = self.world.image.arch;
        let pointer = stack_pointer(arch);
        let before = state.read(pointer);
        if let (Arch::X86_64, Value::Stack(at)) = (arch, &before) {
            state.write(pointer, Value::Stack(at.wrapping_sub(8)));
        }
        state.flags = Flags::Unknown;
        let outer = self.exit.take();
        self.depth += 1;
        let ran = self.function(callee, callee.start, state.clone());
        self.depth -= 1;
        let inner = std::mem::replace(&mut self.exit, outer);
        let mut after = match (ran, inner) {
            (Some(()), Some(inner)) => inner,
            (Some(()), None) if self.steps <= STEPS => return None,
            _ => {
                let mut after = state.clone();
                self.clobber(&mut after, None);
                after
            }
        };
        if let Value::Stack(at) = before {
            after.forget_below(at);
        }
        after.write(pointer, before);
        for &reg in names::preserved(arch) {
            after.write(reg, state.read(reg));
        }
        after.flags = Flags::Unknown;
        Some(after)
    }

    /// Forgets what a callee may change. `writes`: the registers that it writes, if that is known.
    fn clobber(&mut self, state: &mut State, writes: Option<RegSet>) {
        let world = self.world;
        let escaped = names::arguments(world.image.arch)
            .iter()
            .filter_map(|reg| match state.read(*reg) {
                Value::Stack(at) => Some(at),
                _ => None,
            })
            .min();
        if let Some(from) = escaped {
            state.forget_frame(from);
        }
        state.forget_words();
        // On AArch64 some of them stay.
        if world.image.arch == Arch::X86_64 {
            state.forget_vectors();
        }
        for &reg in names::clobbered(world.image.arch, world.image.build.is_go) {
            if writes.is_none_or(|writes| writes.contains(reg)) {
                state.write(reg, Value::Unknown);
            }
        }
        state.flags = Flags::Unknown;
    }

    /// Notes the addresses of this file among a value's constants.
    fn let_out(&mut self, value: &Value, insn: &Insn, kind: UseKind, state: &State) {
        for &(address, proof) in value.choices() {
            if self.world.is_place(Svma(address)) {
                let proof = proof.union(state.proof());
                let check = state.check.or(Some(insn.svma)).filter(|_| !proof.is_empty());
                let used = Use { address: Svma(address), from: insn.svma, kind, proof, check };
                let is_same = |known: &&mut Use| {
                    (known.address, known.from, known.kind) == (used.address, used.from, used.kind)
                };
                match self.facts.uses.iter_mut().find(is_same) {
                    // The block has run before, with less known of the ways to it.
                    Some(known) => known.proof = known.proof.intersection(proof),
                    None => self.facts.uses.push(used),
                }
            }
        }
    }

    /// The address of a memory operand.
    fn address(&self, memory: &Operand, state: &State) -> Value {
        let displacement = if memory.write_back && self.world.image.arch == Arch::Aarch64 {
            // Post-index accesses at the base, pre-index at the sum; the base was brought up to date before.
            0
        } else {
            memory.displacement
        };
        let base = memory.base.map(|base| state.read(base).plus(displacement as u64));
        let base = base.unwrap_or_else(|| Value::constant(displacement as u64));
        match memory.index {
            None => base,
            Some(index) => base.add(&state.read(index).modified(memory.index_as)),
        }
    }

    fn place(&self, memory: &Operand, state: &State) -> Place {
        if memory.is_static {
            return Place::Static(memory.displacement as u64);
        }
        if memory.base.is_none() && memory.index.is_none() {
            return Place::Elsewhere;
        }
        match self.address(memory, state) {
            Value::Stack(at) => Place::Frame(at),
            value => match value.as_constant() {
                Some(at) => Place::Static(at),
                None if memory.index.is_none() && !memory.write_back => Place::Field(memory.displacement),
                None => Place::Elsewhere,
            },
        }
    }

    /// Where a memory operand lies, for what is known better here than everywhere.
    fn holder(&self, memory: &Operand, state: &State) -> Option<Holder> {
        let width = u8::try_from(memory.size).ok().filter(|width| matches!(width, 1 | 2 | 4 | 8))?;
        match self.place(memory, state) {
            Place::Static(at) => Some(Holder::Word(at, width)),
            Place::Frame(at) => Some(Holder::Frame(at, width)),
            _ => None,
        }
    }

    fn load(&self, memory: &Operand, state: &State) -> Value {
        let width = match memory.size {
            width @ (1 | 2 | 4 | 8) => width as u8,
            _ => return Value::Unknown,
        };
        match self.place(memory, state) {
            Place::Static(at) => self.load_word(at, width, state),
            Place::Frame(at) => state.load(at, width),
            Place::Field(at) if self.memory.fields.contains(&at) => Value::Tainted,
            Place::Field(_) | Place::Elsewhere => self.load_indexed(memory, width, state),
        }
    }

    fn load_word(&self, at: u64, width: u8, state: &State) -> Value {
        let known = state.word(at, width).cloned();
        known.unwrap_or_else(|| {
            self.words.borrow_mut().insert((at, width));
            self.memory.load(self.world.linkage, at, width)
        })
    }

    /// From a table: what stands at each address that the index can make, with what is known then.
    fn load_indexed(&self, memory: &Operand, width: u8, state: &State) -> Value {
        let address = self.address(memory, state);
        let all = address.choices().iter().map(|&(at, proof)| self.load_word(at, width, state).under(proof));
        match all.reduce(|a, b| a.join(&b)) {
            Some(value) if value != Value::Unknown => value,
            _ => Value::Unknown.mixed(&address),
        }
    }

    fn store(&mut self, memory: &Operand, value: Value, insn: &Insn, state: &mut State) {
        let width = match memory.size {
            width @ (1 | 2 | 4 | 8) => width as u8,
            16 | 32 => {
                self.store_wide(memory, insn, state);
                return;
            }
            _ => return,
        };
        let value = value.truncate(width);
        let place = self.place(memory, state);
        let kind = match place {
            Place::Static(at) => UseKind::Stored(at),
            _ => UseKind::LetOut,
        };
        if !matches!(place, Place::Frame(_)) {
            self.let_out(&value, insn, kind, state);
        }
        match place {
            Place::Frame(at) => state.store(at, width, value),
            Place::Static(at) => {
                state.store_word(at, width, value.clone());
                let value = value.under(state.proof());
                self.facts.stores.push(Stored { at, width, value, absent: state.absent });
            }
            Place::Field(at) => self.store_field(memory, at, &value, insn, state),
            Place::Elsewhere => {}
        }
    }

    /// A store into a structure whose place is not known. A flag that is set there after a check may be tested later;
    /// a flag stored beside an address of code says when to use it.
    fn store_field(&mut self, memory: &Operand, at: i64, value: &Value, insn: &Insn, state: &State) {
        /// Bytes at most between an address and its flag.
        const BESIDE: i64 = 32;
        let is_flag = memory.size <= 4 && (insn.imm.is_some() || !value.choices().is_empty());
        if is_flag && !state.proven.is_empty() {
            self.facts.fields.insert(at);
        }
        let Some(base) = memory.base else { return };
        let (_, set) = value.equals(0, 8);
        let uses = self.facts.uses.len();
        let is_address = value.choices().iter().any(|&(address, _)| self.world.is_place(Svma(address)));
        for beside in
            self.beside.iter().filter(|beside| beside.base == base && beside.at.abs_diff(at) <= BESIDE as u64)
        {
            if is_address {
                for used in self.facts.uses.iter_mut().filter(|used| used.from == insn.svma) {
                    used.proof = used.proof.union(beside.proof);
                }
            } else if let Some(used) = beside.used.and_then(|used| self.facts.uses.get_mut(used)) {
                used.proof = used.proof.union(set.proven);
                used.check = Some(insn.svma);
            }
        }
        let used = if is_address { uses.checked_sub(1) } else { None };
        if is_address || !set.proven.is_empty() {
            let proof = if is_address { Proof::EMPTY } else { set.proven };
            self.beside.push(Beside { base, at, used, proof });
        }
    }

    /// A store of a vector register.
    fn store_wide(&mut self, memory: &Operand, insn: &Insn, state: &mut State) {
        let lost = if state.holds_answer(insn.reads) { Value::Tainted } else { Value::Unknown };
        let halves = match (insn.lanes, insn.src[0]) {
            (Some(Lanes::Whole), Some(reg)) => state.vector(reg).to_vec(),
            _ => vec![lost; usize::from(memory.size / 8)],
        };
        for (half, offset) in halves.into_iter().zip((0..).step_by(8)) {
            let memory =
                Operand { size: 8, displacement: memory.displacement.wrapping_add(offset), ..*memory };
            self.store(&memory, half, insn, state);
        }
    }

    /// An instruction on vector registers.
    fn vector(&mut self, insn: &Insn, lanes: Lanes, state: &mut State) {
        let loaded = insn.memory.filter(|memory| memory.read);
        let general = insn.src.into_iter().flatten().find(|reg| !reg.is_vector());
        let source = insn.src.into_iter().flatten().rfind(|reg| reg.is_vector());
        let old = insn.dst.map(|dst| state.vector(dst)).unwrap_or_default();
        let (from, width) = match (loaded, general) {
            (Some(memory), _) if memory.size == 16 => {
                let half = |offset| {
                    let displacement = memory.displacement.wrapping_add(offset);
                    self.load(&Operand { size: 8, displacement, ..memory }, state)
                };
                ([half(0), half(8)], 16)
            }
            (Some(memory), _) => ([self.load(&memory, state), Value::Unknown], memory.size.min(8) as u8),
            (None, Some(reg)) => {
                let width = if insn.width == 0 { 8 } else { insn.width };
                ([state.read(reg), Value::Unknown], width)
            }
            (None, None) => (source.map(|reg| state.vector(reg)).unwrap_or_default(), 8),
        };
        match (insn.dst, insn.memory.filter(|memory| memory.write)) {
            (Some(dst), _)
                if dst.is_vector()
                    && lanes != Lanes::Zero
                    && old.iter().chain(&from).all(|half| *half == Value::Unknown) =>
            {
                state.set_vector(dst, Halves::default());
            }
            (Some(dst), _) if dst.is_vector() => {
                let index = insn.imm.and_then(|imm| u64::try_from(imm).ok()).unwrap_or(0);
                state.set_vector(dst, lanes::arranged(lanes, &old, &from, width, index));
            }
            // Out of the register.
            (Some(dst), _) => {
                let [low, _] = from;
                state.write(dst, low.truncate(if insn.width == 0 { 8 } else { insn.width }));
            }
            (None, Some(memory)) if memory.size == 16 => self.store_wide(&memory, insn, state),
            (None, Some(memory)) => {
                let [low, high] = source.map(|reg| state.vector(reg)).unwrap_or_default();
                let half = if lanes == Lanes::HighHalf { high } else { low };
                self.store(&memory, half, insn, state);
            }
            _ => {}
        }
    }

    /// The operation's two operands.
    fn operands(&self, insn: &Insn, state: &State) -> (Value, Value) {
        let width = if insn.width == 0 { 8 } else { insn.width };
        let register = |reg: Option<Reg>, high: bool| match reg {
            None => Value::constant(0),
            Some(reg) if high => state.read(reg).shift(-8).truncate(1),
            Some(reg) => state.read(reg).truncate(width),
        };
        let first = register(insn.src[0], insn.high_byte);
        let immediate = insn.imm.map(|imm| Value::constant(imm as u64 & super::value::mask_of(width)));
        let loaded = insn.memory.filter(|memory| memory.read).map(|memory| self.load(&memory, state));
        match (loaded, immediate) {
            // The memory operand stands first, but for `op register, memory`.
            (Some(loaded), Some(immediate)) => (loaded, immediate),
            (Some(loaded), None) if insn.src[0].is_some() => (first, loaded),
            (Some(loaded), None) => (loaded, register(insn.src[1], false)),
            (None, Some(immediate)) => (first, immediate),
            (None, None) => {
                let second = register(insn.src[1], false);
                let second = match insn.modifier {
                    Some(modifier) => second.modified(modifier).truncate(width),
                    None => second.mixed(&Value::Unknown),
                };
                (first, second)
            }
        }
    }

    /// Runs an instruction that does not leave the block.
    fn step(&mut self, insn: &Insn, state: &mut State) {
        let width = if insn.width == 0 { 8 } else { insn.width };
        if let Some(memory) = insn.memory.filter(|memory| memory.write_back)
            && let Some(base) = memory.base
            && self.world.image.arch == Arch::Aarch64
        {
            let updated = state.read(base).add(&Value::constant(memory.displacement as u64));
            state.write(base, updated);
        }
        if let Some(lanes) = insn.lanes {
            return self.vector(insn, lanes, state);
        }
        if let Some(dst) = insn.dst.filter(|dst| dst.is_vector()) {
            self.step_vector(insn, dst, state);
            let is_flagged = insn.writes.contains(Reg::FLAGS) || insn.writes.general().next().is_some();
            if !is_flagged && insn.memory.is_none_or(|memory| !memory.write) {
                return;
            }
        }
        let moves = match insn.operation {
            Operation::Move | Operation::Extend | Operation::Address | Operation::EffectiveAddress => true,
            Operation::Other => matches!(insn.class, Class::Load | Class::LoadExclusive | Class::Store),
            _ => false,
        };
        let (left, right) = if moves { Default::default() } else { self.operands(insn, state) };
        let value = match insn.operation {
            Operation::CpuId => return words::cpuid(state),
            Operation::ReadExtendedControl => {
                // What the operating system saves: a word that proves no feature of the CPU.
                state.write(Reg::general(0), Value::word([], 4));
                return state.write(Reg::general(2), Value::constant(0));
            }
            Operation::ReadSystemRegister => words::id_register(insn),
            Operation::Push => {
                let value = insn.src[0].map_or_else(|| right.clone(), |reg| state.read(reg));
                return self.push(value, state);
            }
            Operation::Pop => return self.pop(insn, state),
            Operation::Leave => {
                let frame = Reg::general(5);
                state.write(stack_pointer(Arch::X86_64), state.read(frame));
                return self.pop(&Insn { dst: Some(frame), ..*insn }, state);
            }
            Operation::Swap => return self.swap(insn, state),
            Operation::And => left.and(&right),
            Operation::AndNot => left.and(&complement(&right, width)),
            Operation::Or => left.or(&right),
            Operation::OrNot if insn.src[0].is_none() => complement(&right, width),
            Operation::Xor if insn.src[0].is_some() && insn.src[0] == insn.src[1] => Value::constant(0),
            Operation::Xor => left.xor(&right),
            Operation::Add => left.add(&right),
            Operation::Sub if insn.src[0].is_none() && insn.memory.is_none() => right.negate(),
            Operation::Sub => left.add(&right.negate()),
            Operation::Move | Operation::Extend => self.moved(insn, state),
            Operation::Address => insn.imm.map_or(Value::Unknown, |imm| Value::constant(imm as u64)),
            Operation::EffectiveAddress => self.effective_address(insn, state),
            Operation::ShiftLeft => shifted(&left, &right, 1),
            Operation::ShiftRight => shifted(&left, &right, -1),
            Operation::ExtractBits => {
                let imm = insn.imm.unwrap_or(0);
                let (low, count) = ((imm & 0xff) as i32, imm >> 8 & 0xff);
                let mask = 1u64.checked_shl(count as u32).unwrap_or(0).wrapping_sub(1);
                self.source(insn, state).shift(-low).and_mask(mask)
            }
            Operation::SetCondition => {
                let (holds, fails) = self.test(insn, state);
                Value::truth(&holds, &fails)
            }
            Operation::SetMask => {
                let (holds, fails) = self.test(insn, state);
                Value::truth(&holds, &fails).negate().truncate(width)
            }
            Operation::Select => self.selected(insn, state),
            Operation::Compare
            | Operation::Test
            | Operation::BitTest
            | Operation::CompareNegative
            | Operation::ConditionalCompare
            | Operation::ConditionalCompareNegative => Value::Unknown,
            Operation::Other if matches!(insn.class, Class::Load | Class::LoadExclusive) => {
                self.moved(insn, state)
            }
            Operation::Other if insn.class == Class::Store => self.source_or_immediate(insn, state),
            Operation::Other if insn.class == Class::StoreExclusive => {
                return self.store_exclusive(insn, state);
            }
            Operation::CompareSwap => return self.compare_swap(insn, state),
            Operation::FetchAdd | Operation::FetchOr | Operation::FetchAndNot | Operation::FetchXor
                if insn.memory.is_some() =>
            {
                return self.fetch(insn, state);
            }
            _ => left.mixed(&right),
        };
        // Before the registers change that the operand's address is made of.
        let holder = insn.memory.and_then(|memory| self.holder(&memory, state));
        self.set_flags(insn, state, &left, &right, &value);
        self.write_result(insn, state, value, width);
        self.relate(insn, state, holder, (&left, &right));
    }

    /// Notes which register now holds what lies elsewhere, and what the flags were made of. `holder`: the memory operand.
    fn relate(
        &self,
        insn: &Insn,
        state: &mut State,
        holder: Option<Holder>,
        (value, right): (&Value, &Value),
    ) {
        let moves = matches!(insn.operation, Operation::Move | Operation::Other)
            || insn.operation == Operation::Extend && insn.memory.is_some_and(|memory| memory.read);
        let is_whole =
            insn.width >= 4 && !insn.high_byte && !insn.is_signed || insn.operation == Operation::Extend;
        if moves && is_whole && !insn.is_signed {
            match (insn.class, insn.dst, holder, insn.src[0]) {
                (Class::Load, Some(dst), Some(holder), _) if holder.width() <= insn.width => {
                    state.set_copy(dst, holder);
                }
                // The register may hold more than was stored.
                (Class::Store, _, Some(holder), Some(src))
                    if holder.width() <= insn.width
                        && state.read(src) == state.read(src).truncate(holder.width()) =>
                {
                    state.set_copy(src, holder);
                }
                (Class::Other, Some(dst), None, Some(src))
                    if insn.operation == Operation::Move
                        && insn.imm.is_none()
                        && state.read(src) == state.read(dst) =>
                {
                    state.set_same(dst, src);
                }
                _ => {}
            }
        }
        if !insn.writes.contains(Reg::FLAGS) {
            return;
        }
        let width = match (insn.high_byte, insn.width) {
            (true, _) => return state.set_subject(None),
            (_, 0) => 8,
            (_, width) => width,
        };
        // The left side: in memory where the first source is.
        let left = match (insn.memory.filter(|memory| memory.read), insn.src[0]) {
            (Some(_), None) => holder,
            (_, reg) => reg.map(Holder::Register),
        };
        if let Some(Holder::Word(at, width)) = left.filter(|_| !value.choices().is_empty()) {
            state.note_word(at, width, value);
        }
        let whole = Subject { holder: Holder::Register(Reg::OTHER), offset: 0, mask: u64::MAX, width };
        let result = insn.dst.map(Holder::Register).or(holder);
        let subject = match insn.operation {
            Operation::Compare => left.map(|holder| Subject { holder, ..whole }),
            Operation::Test if insn.src[0].is_some() && insn.src[0] == insn.src[1] => {
                left.map(|holder| Subject { holder, ..whole })
            }
            Operation::Test => {
                left.zip(right.as_constant()).map(|(holder, mask)| Subject { holder, mask, ..whole })
            }
            Operation::BitTest => left.zip(right.as_constant()).map(|(holder, bit)| {
                let mask = 1 << (bit % (u64::from(width) * 8));
                Subject { holder, mask, ..whole }
            }),
            // The flags compare what was there before.
            Operation::Sub => {
                result.zip(right.as_constant()).map(|(holder, offset)| Subject { holder, offset, ..whole })
            }
            Operation::And | Operation::AndNot | Operation::Or | Operation::Xor | Operation::Add => {
                result.map(|holder| Subject { holder, ..whole })
            }
            _ => None,
        };
        state.set_subject(subject);
    }

    /// `stxr`: what it says of its success is not known.
    fn store_exclusive(&mut self, insn: &Insn, state: &mut State) {
        let value = self.source(insn, state);
        if let Some(memory) = insn.memory {
            self.store(&memory, value, insn, state);
        }
        if let Some(status) = insn.dst {
            state.write(status, Value::Unknown);
        }
    }

    /// `cmpxchg`, `cas`: the new value may be stored, and the old one comes back.
    fn compare_swap(&mut self, insn: &Insn, state: &mut State) {
        if let Some(memory) = insn.memory {
            let old = self.load(&memory, state);
            let new = insn.src[1].map_or(Value::constant(0), |reg| state.read(reg));
            let either = old.join(&new.truncate(memory.size.min(8) as u8));
            self.store(&memory, if memory.size > 8 { Value::Unknown } else { new }, insn, state);
            if let Some(Holder::Word(at, width)) = self.holder(&memory, state) {
                state.store_word(at, width, either);
            }
            self.write_result(&Insn { memory: None, ..*insn }, state, old, insn.width);
        }
        state.flags = Flags::Unknown;
    }

    /// `ldadd`, `ldset` and the like, `xadd`: the result is stored, and the old value comes back.
    fn fetch(&mut self, insn: &Insn, state: &mut State) {
        let Some(memory) = insn.memory else { return };
        let old = self.load(&memory, state);
        let by = insn.src[0].map_or(Value::constant(0), |reg| state.read(reg)).truncate(insn.width);
        let new = match insn.operation {
            Operation::FetchAdd => old.add(&by),
            Operation::FetchOr => old.or(&by),
            Operation::FetchXor => old.xor(&by),
            _ => old.and(&complement(&by, insn.width)),
        };
        self.store(&memory, new, insn, state);
        self.write_result(&Insn { memory: None, ..*insn }, state, old, insn.width);
        if insn.writes.contains(Reg::FLAGS) {
            state.flags = Flags::Unknown;
        }
    }

    /// Runs what an instruction does to a vector register, of which only is followed whether it holds an answer.
    fn step_vector(&mut self, insn: &Insn, dst: Reg, state: &mut State) {
        let loaded = insn.memory.filter(|memory| memory.read).map(|memory| self.load(&memory, state));
        let general = || insn.src.iter().flatten().filter(|reg| reg.index().is_some());
        // What vectors hold is not followed: two addresses are often stored at once.
        for &reg in general() {
            self.let_out(&state.read(reg), insn, UseKind::LetOut, state);
        }
        if let Some(loaded) = &loaded {
            self.let_out(loaded, insn, UseKind::LetOut, state);
        }
        let holds_answer =
            general().map(|&reg| state.read(reg)).chain(loaded).any(|value| value.is_telling())
                || state.holds_answer(insn.reads);
        let lost = if holds_answer { Value::Tainted } else { Value::Unknown };
        state.set_vector(dst, [lost.clone(), lost]);
    }

    /// Puts a result where the instruction says.
    fn write_result(&mut self, insn: &Insn, state: &mut State, value: Value, width: u8) {
        if matches!(
            insn.operation,
            Operation::Compare
                | Operation::Test
                | Operation::BitTest
                | Operation::CompareNegative
                | Operation::ConditionalCompare
                | Operation::ConditionalCompareNegative
        ) {
            return;
        }
        if let Some(memory) = insn.memory.filter(|memory| memory.write) {
            self.store(&memory, value.clone(), insn, state);
        }
        self.beside.retain(|beside| !insn.writes.contains(beside.base));
        let base = insn.memory.filter(|memory| memory.write_back).and_then(|memory| memory.base);
        for reg in insn.writes.general().filter(|&reg| insn.dst != Some(reg) && base != Some(reg)) {
            state.write(reg, Value::Unknown);
        }
        if let Some(dst) = insn.dst {
            let is_x86 = self.world.image.arch == Arch::X86_64;
            let value = match insn.width {
                1 if insn.high_byte && is_x86 && insn.operation != Operation::Extend => {
                    state.read(dst).and_mask(!0xff00).or(&value.truncate(1).shift(8))
                }
                1 | 2 if is_x86 && insn.operation != Operation::Extend => state
                    .read(dst)
                    .and_mask(!super::value::mask_of(insn.width))
                    .or(&value.truncate(insn.width)),
                _ => value.truncate(width),
            };
            state.write(dst, value);
        }
    }

    fn set_flags(&self, insn: &Insn, state: &mut State, left: &Value, right: &Value, value: &Value) {
        if !insn.writes.contains(Reg::FLAGS) {
            return;
        }
        let width = match (insn.high_byte, insn.width) {
            (true, _) => 1,
            (_, 0) => 8,
            (_, width) => width,
        };
        state.flags = match insn.operation {
            Operation::Compare | Operation::Sub => Flags::Compare(left.clone(), right.clone(), width),
            Operation::Test => Flags::Result(left.and(right), width),
            Operation::BitTest => match right.as_constant() {
                Some(bit) => {
                    let bits =
                        u64::from(insn.memory.map_or(u16::from(width), |memory| memory.size.max(1))) * 8;
                    Flags::Carry(left.shift(-((bit % bits.max(1)) as i32)).and_mask(1))
                }
                None => Flags::Carry(left.mixed(right)),
            },
            Operation::And | Operation::AndNot | Operation::Or | Operation::Xor => {
                Flags::Result(value.clone(), width)
            }
            Operation::Add | Operation::ShiftLeft | Operation::ShiftRight => {
                Flags::Zero(value.clone(), width)
            }
            Operation::ConditionalCompare => {
                let then = Flags::Compare(left.clone(), right.clone(), width);
                match insn.condition {
                    Some(condition) => Flags::Either {
                        before: state.test(condition),
                        then: Box::new(then),
                        otherwise: insn.nzcv,
                    },
                    None => then,
                }
            }
            _ => match left.mixed(right) {
                Value::Tainted => Flags::Result(Value::Tainted, width),
                _ => Flags::Unknown,
            },
        };
    }

    /// What is moved or loaded.
    fn moved(&self, insn: &Insn, state: &State) -> Value {
        let extended = |value: Value, width: u8| {
            if insn.is_signed { value.sign_extend(width) } else { value.truncate(width) }
        };
        match (insn.memory, insn.imm) {
            (Some(memory), _) if memory.read => {
                let loaded = self.load(&memory, state);
                if insn.is_signed { loaded.sign_extend(memory.size.min(8) as u8) } else { loaded }
            }
            (_, Some(imm)) if insn.src[0].is_none() => Value::constant(imm as u64),
            (_, imm) => {
                let value = self.source(insn, state);
                match (insn.operation, imm.and_then(|imm| u8::try_from(imm).ok())) {
                    (Operation::Extend, Some(width)) => extended(value, width),
                    _ => value,
                }
            }
        }
    }

    fn source(&self, insn: &Insn, state: &State) -> Value {
        match insn.src[0] {
            Some(reg) if insn.high_byte => state.read(reg).shift(-8).truncate(1),
            Some(reg) => state.read(reg),
            None => Value::constant(0),
        }
    }

    fn source_or_immediate(&self, insn: &Insn, state: &State) -> Value {
        match (insn.src[0], insn.imm) {
            (None, Some(imm)) => Value::constant(imm as u64),
            (Some(reg), _) if reg.index().is_none() => Value::Unknown,
            _ => self.source(insn, state),
        }
    }

    fn effective_address(&self, insn: &Insn, state: &State) -> Value {
        insn.memory.map_or(Value::Unknown, |memory| self.address(&memory, state))
    }

    fn selected(&self, insn: &Insn, state: &State) -> Value {
        let chosen = match insn.memory {
            Some(memory) if memory.read => self.load(&memory, state),
            _ => insn.src[0].map_or(Value::constant(0), |reg| state.read(reg)),
        };
        let kept = insn.src[1].map_or(Value::constant(0), |reg| state.read(reg));
        if insn.condition.is_none() {
            return chosen.mixed(&kept);
        }
        let (holds, fails) = self.test(insn, state);
        match (holds.impossible, fails.impossible) {
            (true, _) => kept,
            (_, true) => chosen,
            _ => chosen.under(holds.proven).join(&kept.under(fails.proven)),
        }
    }

    fn test(&self, insn: &Insn, state: &State) -> (Outcome, Outcome) {
        state.test(insn.condition.unwrap_or(Condition::Other))
    }

    /// What is known on either way out of a branch.
    fn branch(&self, insn: &Insn, state: &State) -> (Outcome, Outcome) {
        let width = if insn.width == 0 { 8 } else { insn.width };
        let (zero, nonzero) = match insn.operation {
            Operation::BranchZero => self.source(insn, state).equals(0, width),
            Operation::BranchBit => {
                let bit = insn.imm.unwrap_or(0);
                self.source(insn, state).shift(-(bit as i32)).and_mask(1).equals(0, 1)
            }
            Operation::BranchCondition => return self.test(insn, state),
            _ => return Default::default(),
        };
        if insn.condition == Some(Condition::NotEqual) { (nonzero, zero) } else { (zero, nonzero) }
    }

    fn push(&mut self, value: Value, state: &mut State) {
        let pointer = stack_pointer(self.world.image.arch);
        if let Value::Stack(at) = state.read(pointer) {
            let at = at.wrapping_sub(8);
            state.write(pointer, Value::Stack(at));
            state.store(at, 8, value);
        }
    }

    /// `xchg`: of two registers, or of a register and memory.
    fn swap(&mut self, insn: &Insn, state: &mut State) {
        let [first, second, _] = insn.src;
        match (insn.memory, first, second) {
            (None, Some(first), Some(second)) if insn.width >= 4 => {
                let (a, b) =
                    (state.read(first).truncate(insn.width), state.read(second).truncate(insn.width));
                state.write(first, b);
                state.write(second, a);
            }
            (Some(memory), Some(reg), None) if insn.width >= 4 => {
                let loaded = self.load(&memory, state);
                let stored = state.read(reg);
                self.store(&memory, stored, insn, state);
                match self.world.image.arch {
                    Arch::X86_64 => state.write(reg, loaded.truncate(insn.width)),
                    Arch::Aarch64 => insn.dst.into_iter().for_each(|dst| state.write(dst, loaded.clone())),
                }
            }
            _ => {
                for reg in [first, second].into_iter().flatten() {
                    let lost = state.read(reg).mixed(&Value::Unknown);
                    state.write(reg, lost);
                }
            }
        }
    }

    fn pop(&mut self, insn: &Insn, state: &mut State) {
        let pointer = stack_pointer(self.world.image.arch);
        let mut value = Value::Unknown;
        if let Value::Stack(at) = state.read(pointer) {
            value = state.load(at, 8);
            state.write(pointer, Value::Stack(at.wrapping_add(8)));
        }
        if let Some(dst) = insn.dst {
            state.write(dst, value);
        }
    }
}

/// What is left of what is known on one way out of a branch.
fn narrowed(branch: &Insn, state: State, is_taken: bool) -> State {
    let Some(condition) = branch.condition else { return state };
    let is_zero = (condition == Condition::Equal) == is_taken;
    match (branch.operation, branch.src[0]) {
        (Operation::BranchCondition, _) => state.narrowed(condition, is_taken),
        (Operation::BranchZero, Some(reg)) => {
            let width = if branch.width == 0 { 8 } else { branch.width };
            state.narrowed_by_zero(reg, width, u64::MAX, is_zero)
        }
        (Operation::BranchBit, Some(reg)) => {
            let bit = branch.imm.and_then(|bit| u32::try_from(bit).ok()).unwrap_or(0);
            state.narrowed_by_zero(reg, 8, 1u64.checked_shl(bit).unwrap_or(0), is_zero)
        }
        _ => state,
    }
}

fn complement(value: &Value, width: u8) -> Value {
    value.xor_mask(super::value::mask_of(width)).truncate(width)
}

fn shifted(value: &Value, by: &Value, sign: i32) -> Value {
    match by.as_constant() {
        Some(count) => value.shift(sign * (count & 63) as i32),
        None => value.mixed(by),
    }
}

/// Joins a state into a block's, of a loop that goes round and round; returns whether the block must run again.
fn arrive(states: &mut [Option<State>], block: usize, state: &State, is_loop: bool) -> bool {
    match states.get_mut(block) {
        Some(Some(known)) if is_loop => known.widen(state),
        Some(Some(known)) => known.join(state),
        Some(place @ None) => {
            *place = Some(state.clone());
            true
        }
        None => false,
    }
}

/// What each of several functions tells, by where it begins.
pub(super) type FactsByFunction = HashMap<CodeOffset, Facts>;

/// The words that functions store to, all stores to each joined.
pub(super) fn stored_words<'f>(
    facts: impl Iterator<Item = &'f Facts>,
) -> BTreeMap<(u64, u8), (Value, FeatureSet)> {
    let mut words: BTreeMap<(u64, u8), (Value, FeatureSet)> = BTreeMap::new();
    for stored in facts.flat_map(|facts| &facts.stores) {
        let (value, cleared) =
            words.entry((stored.at, stored.width)).or_insert_with(|| (Value::none(), FeatureSet::EMPTY));
        *value = value.join(&stored.value);
        if stored.value.as_constant() == Some(0) {
            *cleared = cleared.union(stored.absent);
        }
    }
    let overlapping = overlaps(&words);
    for ((at, width), (from, stored)) in overlapping {
        let Some((other, _)) = words.get(&(from, stored)).cloned() else { continue };
        let Some((value, _)) = words.get_mut(&(at, width)) else { continue };
        // The bytes of the other store take the place of this one's.
        let shift = |by: u64, sign: i32| sign.saturating_mul(i32::try_from(by * 8).unwrap_or(64));
        let (moved, mask) = match from.checked_sub(at) {
            Some(by) => (other.shift(shift(by, 1)), super::value::mask_of(stored) << (by * 8)),
            None => {
                let by = at.wrapping_sub(from);
                (other.shift(shift(by, -1)), super::value::mask_of(stored) >> (by * 8))
            }
        };
        let rest = value.and_mask(!mask & super::value::mask_of(width));
        *value = value.join(&rest.or(&moved.truncate(width)));
    }
    words
}

/// Which words share bytes with which others.
type Overlaps = Vec<((u64, u8), (u64, u8))>;

fn overlaps(words: &BTreeMap<(u64, u8), (Value, FeatureSet)>) -> Overlaps {
    let mut found = Vec::new();
    for &(at, width) in words.keys() {
        let end = at.saturating_add(width.into());
        let near = words.range((at.saturating_sub(8), 0)..(end, 0)).map(|(key, _)| *key);
        let others = near.filter(|&(from, stored)| {
            (from, stored) != (at, width) && from.saturating_add(stored.into()) > at
        });
        found.extend(others.map(|other| ((at, width), other)));
    }
    found
}

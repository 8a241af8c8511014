//! Runs a function on what is known instead of on numbers: which tests stand before each of its blocks.
//!
//! In: a function, and the words of memory whose meaning is known. Out: [`Facts`]: what each block may rely on, what
//! the function stores and returns, and where it lets addresses out. Functions that ask the CPU are run inside their
//! callers, since leaf and place of the answer come in as arguments.

use super::World;
use super::memory::{Argument, Memory};
use super::names;
use super::proof::Proof;
use super::state::{Flags, State, stack_pointer};
use super::step::narrowed;
use super::trap::{self, Trap};
use super::value::{Outcome, Value};
use super::words;
use crate::address::CodeOffset;
use crate::address::Svma;
use crate::function::Function;
use crate::function::block::{Block, Graph};
use crate::insn::{Flow, Insn, Reg, RegSet};
use deburr_cpu::{Arch, FeatureSet};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Functions inside functions at most.
const DEPTH: u32 = 6;
/// How often a block is run before it is given up.
const VISITS: u32 = 16;
/// How often a block is run before what each round of a loop counts on is taken for any number.
const ROUNDS: u32 = 8;
/// Runs of blocks at most in one function, those inside it included; of a function of many blocks each may run twice.
const STEPS: u32 = 4096;
/// Runs of blocks at most in a function inside another one, or for each of its blocks.
const STEPS_INSIDE: u32 = 256;
const STEPS_INSIDE_EACH: u32 = 8;

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
    /// The arguments in which it gives others what tells of the CPU.
    pub arguments: BTreeSet<(CodeOffset, Argument)>,
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

/// An address or a flag stored in a structure of unknown place.
pub(super) struct Beside {
    pub(super) base: Reg,
    pub(super) at: i64,
    /// The use that the address made, by its place among all uses.
    pub(super) used: Option<usize>,
    /// What the flag tells when it is set.
    pub(super) proof: Proof,
}

/// Where a block goes on, and what is known there.
enum Onward {
    /// To a block.
    To(usize, State),
    /// To any block that nothing else leads to; whether an answer of the CPU chooses.
    Anywhere(bool, State),
}

/// One function being run.
pub(super) struct Run<'r, 'w, 'a> {
    pub(super) world: &'r World<'w, 'a>,
    pub(super) memory: &'r Memory,
    depth: u32,
    pub(super) facts: Facts,
    /// The place of each among the facts' uses.
    used: HashMap<(Svma, Svma, UseKind), usize>,
    /// Blocks run so far.
    steps: u32,
    /// How many have run when the function that is running is given up.
    last_step: u32,
    /// Functions that were given up inside this one.
    given_up: BTreeSet<CodeOffset>,
    /// What the block has stored in structures of unknown place.
    pub(super) beside: Vec<Beside>,
    /// The words that it has loaded, by address and width in bytes.
    pub(super) words: RefCell<BTreeSet<(u64, u8)>>,
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
    let mut entry = words::entry_state(world, from);
    for argument in memory.arguments.get(&from).into_iter().flatten() {
        match *argument {
            Argument::Register(reg) => entry.write(reg, Value::Tainted),
            Argument::Stack(at) => entry.store(at, 8, Value::Tainted),
        }
    }
    let run = loop {
        let count = entered.len();
        let mut run = Run {
            world,
            memory,
            depth: 0,
            facts: Facts::default(),
            used: HashMap::new(),
            steps: 0,
            last_step: u32::MAX,
            given_up: BTreeSet::new(),
            beside: Vec::new(),
            words: RefCell::default(),
            exit: None,
            entered,
        };
        run.function(function, from, entry.clone())?;
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
        let parts: Vec<Function> = self.world.with_parts(function).collect();
        let is_here = |svma: &Svma| {
            let at = self.world.image.code_offset(*svma);
            at.is_some_and(|at| parts.iter().any(|part| part.contains(at)))
        };
        let entered: Vec<Svma> = self.entered.iter().copied().filter(is_here).collect();
        let graph = match entered.as_slice() {
            [] => self.world.graph(function)?,
            entered => Arc::new(self.world.graph_entered(function, entered)?),
        };
        let count = graph.blocks.len();
        let times = |each: u32| u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(each);
        let most = match self.depth {
            0 => STEPS.max(times(2)),
            _ => STEPS_INSIDE.max(times(STEPS_INSIDE_EACH)),
        };
        self.last_step = self.last_step.min(self.steps.saturating_add(most));
        let orphans = graph.orphans();
        let mut states: Vec<Option<State>> = vec![None; count];
        let mut visits = vec![0u32; count];
        // By rank.
        let mut pending: BTreeSet<(usize, usize)> = BTreeSet::new();
        let first = graph.find(self.world.image.svma(from)).map_or(0, |(block, _)| block);
        *states.get_mut(first)? = Some(entry);
        pending.insert((graph.rank(first), first));
        // What every call may continue with when the callee throws.
        let mut thrown: Option<State> = None;
        loop {
            while let Some((_, block)) = pending.pop_first() {
                let Some(state) = states.get(block).cloned().flatten() else { continue };
                self.steps += 1;
                if self.depth > 0 && self.steps > self.last_step {
                    return None;
                }
                if let Some(visits) = visits.get_mut(block) {
                    *visits += 1;
                    if *visits > VISITS || self.steps > self.last_step {
                        // What is not followed to its end may prove more.
                        *visits = VISITS + 1;
                        continue;
                    }
                }
                let (edges, calls) = self.block(&graph, block, state);
                if let Some(call) = calls.filter(|_| !orphans.is_empty()) {
                    match &mut thrown {
                        Some(thrown) => drop(thrown.join(&call)),
                        None => thrown = Some(call),
                    }
                }
                for edge in edges {
                    let (targets, state) = match &edge {
                        Onward::To(to, state) => (vec![*to], state),
                        Onward::Anywhere(_, state) => (orphans.to_vec(), state),
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
                            pending.insert((graph.rank(to), to));
                        }
                    }
                }
            }
            // Landing pads: nothing in the function jumps to them, an indirect jump may seem to.
            let Some(state) = thrown.take() else { break };
            for &orphan in orphans {
                let is_reached = |at: usize| states.get(at).is_some_and(Option::is_some);
                // Padding before what a table leads to.
                let is_passed = graph.blocks.get(orphan).is_some_and(|block| {
                    block.is_padding() && block.successors.iter().all(|&next| is_reached(next))
                });
                if !is_reached(orphan) && !is_passed {
                    arrive(&mut states, orphan, &state, false);
                    pending.insert((graph.rank(orphan), orphan));
                }
            }
            if pending.is_empty() {
                break;
            }
        }
        if self.depth == 0 {
            let is_cut = self.steps > self.last_step;
            let has_tests = states.iter().flatten().any(|state| !state.proof().is_empty());
            // What the run did not come to, because it was cut short, may well be reached.
            let beyond = is_cut.then_some(Proof::doubt(has_tests));
            self.facts.blocks = (graph.blocks.iter().zip(&states).zip(&visits))
                .filter_map(|((block, state), visits)| {
                    let doubt = Proof::doubt(*visits > VISITS);
                    Some(BlockFacts {
                        start: self.world.image.code_offset(block.start())?,
                        proof: state.as_ref().map(|state| self.guard(state).union(doubt)).or(beyond),
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
                    match self.call(insn, state, false) {
                        Some(after) => state = after,
                        None => return (Vec::new(), at_call),
                    }
                }
                Flow::Return => {
                    self.leave(insn, state);
                    return (Vec::new(), at_call);
                }
                Flow::Stop => return (Vec::new(), at_call),
                _ => {
                    self.step(insn, &mut state);
                    if state.trap == Trap::Survived {
                        state.prove(trap::proven_by(self.world, insn), insn.svma);
                    }
                }
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

    /// What guards whatever runs next.
    fn guard(&self, state: &State) -> Proof {
        match state.trap {
            Trap::Survived => state.proof().union(trap::everything(self.world.image.arch)),
            Trap::Deadly | Trap::Caught => state.proof(),
        }
    }

    /// A jump to another function through a pointer.
    fn tail_to_pointer(&mut self, insn: &Insn, mut state: State) {
        self.clobber(&mut state, None, true);
        self.leave(insn, state);
    }

    /// A jump to another function: it runs in this one's place.
    fn tail(&mut self, insn: &Insn, target: Svma, state: State) {
        if let Some(start) = self.world.image.code_offset(insn.svma).filter(|_| self.depth == 0) {
            let facts = BlockFacts { start, proof: Some(self.guard(&state)), check: state.check };
            self.facts.exits.push((start, facts));
        }
        let call = Insn { flow: Flow::Call(target), ..*insn };
        if let Some(state) = self.call(&call, state, true) {
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

    /// A call, or a jump that takes its place: what is known after it; `None` if it does not come back.
    fn call(&mut self, insn: &Insn, mut state: State, is_jump: bool) -> Option<State> {
        let world = self.world;
        let target = match insn.flow {
            Flow::Call(target) => Some(target),
            _ => {
                let target = self.target(insn, &state);
                self.let_out(&target, insn, UseKind::Called, &state);
                target.as_constant().map(Svma)
            }
        };
        for reg in self.argument_registers(&state) {
            let value = state.read(reg);
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
        let trap = trap::after_call(world, name, &state);
        if trap == Trap::Survived && state.trap != trap {
            state.check = Some(insn.svma);
        }
        state.trap = trap;
        if let Some(value) = name.and_then(|name| words::answer(world, name, &state)) {
            self.clobber(&mut state, None, true);
            state.write(Reg::general(0), value);
            return Some(state);
        }
        let callee = target.and_then(|target| world.called_at(target));
        let is_inside = |start: CodeOffset| {
            self.depth < DEPTH && world.is_run_inside(start) && !self.given_up.contains(&start)
        };
        if let Some(callee) = callee.filter(|callee| is_inside(callee.start)) {
            return self.run_inside(callee, state);
        }
        if let Some(callee) = callee {
            self.pass(callee.start, &state, is_jump);
        }
        let called = callee.map(|callee| world.callee(callee));
        if called.is_some_and(|called| !called.returns) {
            return None;
        }
        let is_alone = callee.is_some_and(|callee| world.alone.contains(&callee.start));
        let takes_arguments = !is_alone && called.is_none_or(|called| called.takes_arguments);
        self.clobber(&mut state, called.and_then(|called| called.writes), takes_arguments);
        if let Some(callee) = callee {
            self.facts.inputs.callees.insert(callee.start);
            if let Some(returned) = world.returns.get(&callee.start) {
                state.write(Reg::general(0), returned.clone());
            }
            if state.trap == Trap::Survived {
                state.prove(trap::proven_by_call(world, callee), insn.svma);
            }
        }
        Some(state)
    }

    /// The registers that hold arguments: where one is missing, what stands in those after it is none.
    fn argument_registers<'s>(&self, state: &'s State) -> impl Iterator<Item = Reg> + use<'s> {
        let registers = names::arguments(self.world.image.arch).iter().copied();
        registers.take_while(|reg| !state.is_left(*reg))
    }

    /// Notes the arguments of a call that tell of the CPU.
    fn pass(&mut self, callee: CodeOffset, state: &State, is_jump: bool) {
        /// Bytes of arguments on the stack at most.
        const MOST: i64 = 128;
        let arch = self.world.image.arch;
        let is_flag = |value: &Value| {
            let is_address = |choice: &(u64, Proof)| self.world.is_place(Svma(choice.0));
            value.is_telling() && !value.choices().iter().any(is_address)
        };
        let registers = self.argument_registers(state).filter(|reg| is_flag(&state.read(*reg)));
        self.facts.arguments.extend(registers.map(|reg| (callee, Argument::Register(reg))));
        if let Value::Stack(top) = state.read(stack_pointer(arch)) {
            let pushed = if arch == Arch::X86_64 && !is_jump { 8 } else { 0 };
            let above = state.frame_between(top, top.saturating_add(MOST));
            let flags = above.filter(|(_, value)| is_flag(value));
            let arguments = flags.map(|(at, _)| (callee, Argument::Stack(at - top + pushed)));
            self.facts.arguments.extend(arguments);
        }
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
        let (outer, last_step) = (self.exit.take(), self.last_step);
        self.depth += 1;
        let ran = self.function(callee, callee.start, state.clone());
        self.depth -= 1;
        let inner = std::mem::replace(&mut self.exit, outer);
        self.last_step = last_step;
        let mut after = match (ran, inner) {
            (Some(()), Some(inner)) => inner,
            (Some(()), None) => return None,
            (None, _) => {
                self.given_up.insert(callee.start);
                let mut after = state.clone();
                self.clobber(&mut after, None, true);
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

    /// Forgets what a callee may change. `writes`: the registers that it writes, if that is known. `takes_arguments`:
    /// whether what the registers for arguments hold is for it.
    fn clobber(&mut self, state: &mut State, writes: Option<RegSet>, takes_arguments: bool) {
        let world = self.world;
        let escaped = names::arguments(world.image.arch)
            .iter()
            .filter_map(|reg| match state.read(*reg) {
                Value::Stack(at) => Some(at),
                _ => None,
            })
            .min();
        if let Some(from) = escaped.filter(|_| takes_arguments) {
            state.forget_frame(from);
        }
        state.forget_words();
        // On AArch64 some of them stay.
        if world.image.arch == Arch::X86_64 {
            state.forget_vectors();
        }
        for &reg in names::clobbered(world.image.arch, world.image.build.is_go) {
            if writes.is_none_or(|writes| writes.contains(reg)) {
                state.leave(reg);
            }
        }
        state.flags = Flags::Unknown;
    }

    /// Notes the addresses of this file among a value's constants.
    pub(super) fn let_out(&mut self, value: &Value, insn: &Insn, kind: UseKind, state: &State) {
        for &(address, proof) in value.choices() {
            if self.world.is_place(Svma(address)) {
                let proof = proof.union(state.proof());
                let check = state.check.or(Some(insn.svma)).filter(|_| !proof.is_empty());
                let address = Svma(address);
                let place = *self.used.entry((address, insn.svma, kind)).or_insert(self.facts.uses.len());
                match self.facts.uses.get_mut(place) {
                    // The block has run before, with less known of the ways to it.
                    Some(known) => known.proof = known.proof.intersection(proof),
                    None => self.facts.uses.push(Use { address, from: insn.svma, kind, proof, check }),
                }
            }
        }
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

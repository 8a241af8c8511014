//! Runs a function on abstract values instead of numbers: which tests are before each of its blocks. Values that are
//! `Tainted` are ⊤ that carries taint.
//!
//! In: a function, and the words of memory whose meaning is known. Out: [`Facts`]: what each block may rely on, what
//! the function stores and returns, and where it lets addresses out. Functions that query the CPU are run inside their
//! callers, since leaf and place of the answer come in as arguments.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::Function;
use crate::function::block::{Block, Graph};
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::state::{Flags, State, stack_pointer};
use crate::function::reach::domain::told::Told;
use crate::function::reach::domain::trap::Trap;
use crate::function::reach::domain::value::{Outcome, Value};
use crate::function::reach::file::abi;
use crate::function::reach::file::names;
use crate::function::reach::file::view::View;
use crate::function::reach::machine::effects::{BlockFacts, Effects, Facts, Inputs, UseKind};
use crate::function::reach::machine::memory::{Argument, Memory};
use crate::function::reach::machine::queries;
use crate::function::reach::machine::summaries::Summaries;
use crate::function::reach::machine::transfer::Transfer;
use crate::function::reach::machine::trap;
use crate::insn::{Flow, Insn, Operation, Reg, RegSet};
use deburr_cpu::Arch;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum depth of functions inside functions.
const DEPTH: u32 = 6;
/// How often a block is run before it is given up.
const VISITS: u32 = 16;
/// How often a block is run before what each iteration of a loop counts on is taken for any number.
const ROUNDS: u32 = 8;
/// Maximum of runs of blocks in one function, those inside it included; of a function of many blocks each may run
/// twice.
const STEPS: u32 = 4096;
/// Maximum of runs of blocks in a function inside another one, or for each of its blocks.
const STEPS_INSIDE: u32 = 256;
const STEPS_INSIDE_EACH: u32 = 8;

/// Maximum of bytes of arguments on the stack.
const STACK_ARGUMENTS: i64 = 128;

/// Maximum of places that jumps through tables lead to, before the rest is not searched for.
const MOST_ENTERED: usize = 32;

/// Where a block goes on, and what is known there.
enum Onward {
    /// To a block.
    To(usize, State),
    /// To any block that nothing else leads to; whether an answer of the CPU chooses.
    Anywhere(bool, State),
}

/// One function being run.
pub(crate) struct Run<'r, 'w, 'a> {
    transfer: Transfer<'r, 'w, 'a>,
    summaries: &'r Summaries,
    depth: u32,
    /// Blocks run so far.
    steps: u32,
    /// How many have run when the function that is running is given up.
    last_step: u32,
    /// Functions that were given up inside this one.
    given_up: BTreeSet<CodeOffset>,
    /// Where the function comes back to its caller, all paths joined.
    exit: Option<State>,
    /// Where jumps through tables lead.
    entered: BTreeSet<Svma>,
}

/// Runs a function from its start or from another entry; `None` if it is too large.
pub(crate) fn interpret(
    file: &View<'_, '_>,
    summaries: &Summaries,
    memory: &Memory,
    function: &Function,
    from: CodeOffset,
) -> Option<Facts> {
    let mut entered = BTreeSet::new();
    let mut entry = queries::entry_state(file, from);
    for argument in memory.arguments.get(&from).into_iter().flatten() {
        match *argument {
            Argument::Register(reg) => entry.write(reg, Value::Tainted),
            Argument::Stack(at) => entry.store(at, 8, Value::Tainted),
        }
    }
    for (reg, value) in memory.presumed.arguments.get(&from).into_iter().flatten() {
        entry.write(*reg, value.clone());
    }
    let run = loop {
        let count = entered.len();
        let mut run = Run {
            transfer: Transfer {
                file,
                memory,
                effects: Effects::default(),
                at: Svma(0),
                loads_answers: loads_answers(file, summaries, function),
            },
            summaries,
            depth: 0,
            steps: 0,
            last_step: u32::MAX,
            given_up: BTreeSet::new(),
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
    let Effects { mut facts, inputs, .. } = run.transfer.effects;
    let (start, inlined) = (function.start, summaries.inlined.len());
    let is_restarted = !run.entered.is_empty();
    facts.inputs = Inputs { start, inlined, is_restarted, ..inputs.into_inner() };
    // A jump that was run again knows less each time; the last counts.
    facts.exits.reverse();
    facts.exits.sort_by_key(|exit| exit.0);
    facts.exits.dedup_by_key(|exit| exit.0);
    let returns = Reg::general(0);
    facts.returned = run.exit.map_or(Value::none(), |exit| exit.read(returns).under(exit.proof()));
    Some(facts)
}

/// Whether what a function loads, and nobody knows, may be an answer of the CPU: it reads what the kernel says, or it
/// chooses whether to serialize by `cpuid`.
fn loads_answers(file: &View<'_, '_>, summaries: &Summaries, function: &Function) -> bool {
    summaries.serializing.contains(&function.start) || file.auxv_readers().contains(&function.start)
}

impl Run<'_, '_, '_> {
    fn function(&mut self, function: &Function, from: CodeOffset, entry: State) -> Option<()> {
        let parts: Vec<Function> = self.transfer.file.with_parts(function).collect();
        let is_here = |svma: &Svma| {
            let at = self.transfer.file.image.code_offset(*svma);
            at.is_some_and(|at| parts.iter().any(|part| part.contains(at)))
        };
        let entered: Vec<Svma> = self.entered.iter().copied().filter(is_here).collect();
        let graph = match entered.as_slice() {
            [] => self.transfer.file.graph(function)?,
            entered => Arc::new(self.transfer.file.graph_entered(function, entered)?),
        };
        let count = graph.blocks.len();
        self.transfer.file.program.budget().take(count);
        let times = |each: u32| u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(each);
        let most = match self.depth {
            0 => STEPS.max(times(2)),
            _ => STEPS_INSIDE.max(times(STEPS_INSIDE_EACH)),
        };
        self.last_step = self.last_step.min(self.steps.saturating_add(most));
        let orphans = graph.orphans();
        let arch = self.transfer.file.image.arch;
        let mut states: Vec<Option<State>> = vec![None; count];
        let mut visits = vec![0u32; count];
        // By rank.
        let mut pending: BTreeSet<(usize, usize)> = BTreeSet::new();
        let first = graph.find(self.transfer.file.image.svma(from)).map_or(0, |(block, _)| block);
        *states.get_mut(first)? = Some(entry);
        pending.insert((graph.rank(first), first));
        // What every call may continue with when the callee throws.
        let mut thrown: Option<State> = None;
        // What jumps without a frame know.
        let mut frameless: Option<State> = None;
        loop {
            while let Some((_, block)) = pending.pop_first() {
                let Some(state) = states.get(block).cloned().flatten() else { continue };
                self.steps += 1;
                let budget = self.transfer.file.program.budget();
                let length = graph.blocks.get(block).map_or(0, |block| block.insns.len());
                if !budget.take(length) || (self.depth > 0 && self.steps > self.last_step) {
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
                let (edges, call) = self.block(&graph, block, state, !orphans.is_empty());
                call.into_iter().for_each(|call| join_into(&mut thrown, call));
                let mut go = |to: usize, state: State| {
                    budget.take(state.size());
                    let is_loop = visits.get(to).is_some_and(|&visits| visits >= ROUNDS);
                    if arrive(&mut states, to, state, is_loop) {
                        pending.insert((graph.rank(to), to));
                    }
                };
                for edge in edges {
                    match edge {
                        Onward::To(to, state) => go(to, state),
                        Onward::Anywhere(is_chosen, state) => {
                            let pointer = stack_pointer(arch);
                            let has_frame = self.depth > 0 || state.read(pointer) != Value::Stack(0);
                            // The entry is a block of this kind where a part of the function is before it.
                            let led_to = |to: &&usize| {
                                **to != first && (has_frame || !gives_up_frame(&graph, **to, arch))
                            };
                            if !has_frame {
                                join_into(&mut frameless, state.clone());
                            }
                            budget.take(orphans.len());
                            for &to in orphans.iter().filter(led_to) {
                                // By the target, so that what follows the choice is free of the doubt again.
                                let start = graph.blocks.get(to).map_or(Svma(0), Block::start);
                                let state = state.clone();
                                go(to, if is_chosen { state.chosen_at(start) } else { state });
                            }
                        }
                    }
                }
            }
            // What nothing else leads to, a jump without a frame may, or what is thrown. Landing pads: nothing in the function
            // jumps to them, an indirect jump may seem to.
            let mut either = frameless.take();
            thrown.take().into_iter().for_each(|thrown| join_into(&mut either, thrown));
            let Some(state) = either else { break };
            for &orphan in orphans {
                let is_reached = |at: usize| states.get(at).is_some_and(Option::is_some);
                // Padding before what a table leads to.
                let is_passed = graph.blocks.get(orphan).is_some_and(|block| {
                    block.is_padding() && block.successors.iter().all(|&next| is_reached(next))
                });
                if !is_reached(orphan) && !is_passed {
                    arrive(&mut states, orphan, state.clone(), false);
                    pending.insert((graph.rank(orphan), orphan));
                }
            }
            if pending.is_empty() {
                break;
            }
        }
        if self.depth == 0 {
            self.record(&graph, &states, &visits);
        }
        Some(())
    }

    /// Records what is known at each block.
    fn record(&mut self, graph: &Graph, states: &[Option<State>], visits: &[u32]) {
        let is_cut = self.steps > self.last_step;
        let has_tests = states.iter().flatten().any(|state| !state.proof().is_empty());
        // What the run did not come to, because it was cut short, may well be reached.
        let beyond = is_cut.then_some(Proof::doubt(has_tests));
        let mut blocks: Vec<BlockFacts> = (graph.blocks.iter().zip(states).zip(visits))
            .filter_map(|((block, state), visits)| {
                let is_unsettled = *visits > VISITS;
                let doubt = Proof::doubt(is_unsettled);
                Some(BlockFacts {
                    start: self.transfer.file.image.code_offset(block.start())?,
                    proof: state.as_ref().map(|state| self.guard(state).union(doubt)).or(beyond),
                    check: state.as_ref().and_then(|state| state.check),
                    doubt: state.as_ref().and_then(State::doubt),
                    is_cut: is_unsettled || (is_cut && state.is_none()),
                })
            })
            .collect();
        blocks.dedup_by(|next, last| BlockFacts { start: last.start, ..*next } == *last);
        blocks.shrink_to_fit();
        self.transfer.effects.facts.blocks = blocks;
    }

    /// Runs a block. Out: where it goes on, and, on request, what is known at its last call.
    fn block(
        &mut self,
        graph: &Graph,
        index: usize,
        mut state: State,
        keeps_call: bool,
    ) -> (Vec<Onward>, Option<State>) {
        let Some(block) = graph.blocks.get(index) else { return (Vec::new(), None) };
        let mut at_call = None;
        for insn in &block.insns {
            self.transfer.at = insn.svma;
            match insn.flow {
                Flow::Call(_) | Flow::IndirectCall => {
                    at_call = keeps_call.then(|| state.clone());
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
                    self.transfer.step(insn, &mut state);
                    if state.trap == Trap::Survived {
                        state.prove(trap::proven_by(self.transfer.file, insn), insn.svma);
                    }
                }
            }
        }
        let Some(last) = block.last() else { return (Vec::new(), at_call) };
        let place = |svma: Svma| graph.find(svma).filter(|&(_, insn)| insn == 0).map(|(block, _)| block);
        let mut edges = Vec::new();
        match last.flow {
            Flow::Branch(target) => {
                let (taken, passed) = self.transfer.edges(last, state);
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
                self.transfer.effects.let_out(self.transfer.file, &target, last, UseKind::Called, &state);
                match self.through_table(graph, &target, last, &state) {
                    Some(all) => edges.extend(all),
                    None => {
                        // It may seem to lead to landing pads, where these registers hold the exception.
                        for reg in abi::thrown(self.transfer.file.image.arch) {
                            if !state.read(reg).is_informative() {
                                state.write(reg, Value::Unknown);
                            }
                        }
                        if !graph.blocks.iter().skip(1).any(|block| block.predecessors.is_empty()) {
                            self.tail_to_pointer(last, state.clone());
                        }
                        edges.push(Onward::Anywhere(target.is_informative(), state));
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
            self.transfer.file.image.code_offset(to)?;
            let outcome = Outcome { proven, ..Outcome::default() };
            let Some(state) = state.clone().after(&outcome, jump.svma, true) else { continue };
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
            Trap::Survived => state.proof().union(trap::everything(self.transfer.file.image.arch)),
            Trap::Deadly | Trap::Caught => state.proof(),
        }
    }

    /// A jump to another function through a pointer.
    fn tail_to_pointer(&mut self, insn: &Insn, mut state: State) {
        if self.transfer.memory.records_told {
            self.tell_call(&self.target(insn, &state), &state);
        }
        self.clobber(&mut state, None, true);
        self.leave(insn, state);
    }

    /// A jump to another function: it runs in this one's place.
    fn tail(&mut self, insn: &Insn, target: Svma, state: State) {
        if let Some(start) = self.transfer.file.image.code_offset(insn.svma).filter(|_| self.depth == 0) {
            let facts = BlockFacts {
                start,
                proof: Some(self.guard(&state)),
                check: state.check,
                doubt: state.doubt(),
                is_cut: false,
            };
            self.transfer.effects.facts.exits.push((start, facts));
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
            self.transfer.effects.let_out(self.transfer.file, &returned, insn, UseKind::Returned, &state);
        }
        join_into(&mut self.exit, state);
    }

    /// The address that an indirect call or jump goes to.
    fn target(&self, insn: &Insn, state: &State) -> Value {
        match insn.memory {
            Some(memory) => self.transfer.load(&memory, state),
            None => {
                let reg = insn.src.into_iter().flatten().next();
                let reg = reg.or_else(|| {
                    (0..31).map(Reg::general).find(|&reg| {
                        insn.reads.contains(reg) && reg != stack_pointer(self.transfer.file.image.arch)
                    })
                });
                reg.map_or(Value::Unknown, |reg| state.read(reg))
            }
        }
    }

    /// A call, or a jump that takes its place: what is known after it; `None` if it does not come back.
    fn call(&mut self, insn: &Insn, mut state: State, is_jump: bool) -> Option<State> {
        let file = self.transfer.file;
        let (target, pointer) = match insn.flow {
            Flow::Call(target) => (Some(target), Value::Unknown),
            _ => {
                let pointer = self.target(insn, &state);
                self.transfer.effects.let_out(self.transfer.file, &pointer, insn, UseKind::Called, &state);
                (pointer.as_constant().map(Svma), pointer)
            }
        };
        let callee = target.and_then(|target| file.called_at(target));
        let takes = callee.map_or(RegSet::ALL, |callee| file.callee(callee).takes);
        for reg in self.argument_registers(&state).filter(|reg| takes.contains(*reg)) {
            let value = state.read(reg);
            if !value.choices().is_empty() {
                self.transfer.effects.let_out(self.transfer.file, &value, insn, UseKind::LetOut, &state);
            }
            // A structure in the frame, such as that of `sigaction`.
            if let Value::Stack(at) = value {
                for value in state.frame_from(at) {
                    self.transfer.effects.let_out(self.transfer.file, &value, insn, UseKind::LetOut, &state);
                }
            }
        }
        let name =
            file.called_elsewhere(insn.svma).or_else(|| target.and_then(|target| file.name_of(target)));
        if name.is_some_and(names::does_not_return) {
            self.tell_end(name, &state);
            return None;
        }
        let trap = trap::after_call(file, name, &state);
        if trap == Trap::Survived && state.trap != trap {
            state.check = Some(insn.svma);
        }
        state.trap = trap;
        if let Some(value) = name.and_then(|name| queries::answer(file, name, &state)) {
            self.clobber(&mut state, None, true);
            state.write(Reg::general(0), value);
            return Some(state);
        }
        if let Some(set) = name.and_then(|name| queries::environment(file, name, &state)) {
            self.clobber(&mut state, None, true);
            set(&mut state, Reg::general(0));
            return Some(state);
        }
        if let Some(value) = name.and_then(|name| queries::comparison(file, name, &state)) {
            self.clobber(&mut state, None, true);
            state.write(Reg::general(0), value);
            return Some(state);
        }
        let is_inside = |start: CodeOffset| {
            self.depth < DEPTH && self.summaries.inlined.contains(&start) && !self.given_up.contains(&start)
        };
        if let Some(callee) = callee.filter(|callee| is_inside(callee.start)) {
            return self.run_inside(callee, state);
        }
        if self.transfer.memory.records_told {
            match callee.filter(|callee| self.shows_itself(callee, &state)) {
                Some(callee) => {
                    self.transfer.effects.facts.inside.insert(callee.start);
                    let after = self.run_inside(callee, state.clone());
                    if !self.given_up.contains(&callee.start) {
                        return after;
                    }
                    self.tell_call(&pointer, &state);
                }
                None => self.tell_call(&pointer, &state),
            }
        }
        if let Some(callee) = callee {
            self.pass(callee.start, &state, is_jump);
            if self.is_accessor(callee, &state) {
                return self.run_inside(callee, state);
            }
        }
        let called = callee.map(|callee| file.callee(callee));
        if called.is_some_and(|called| !called.returns) {
            return None;
        }
        let is_alone = callee.is_some_and(|callee| self.summaries.context_free.contains(&callee.start));
        let takes_arguments = !is_alone && called.is_none_or(|called| called.takes_arguments);
        let filled =
            if takes_arguments && callee.is_some() { self.filled_with_answers(&state) } else { None };
        self.clobber(&mut state, called.and_then(|called| called.writes), takes_arguments);
        if let Some(place) = filled {
            state.taint_frame(place);
        }
        if let Some(callee) = callee {
            if let Some(constant) = called.and_then(|called| called.constant) {
                state.write(Reg::general(0), Value::constant(constant));
            }
            let returns = || self.summaries.returns.get(&callee.start).cloned();
            let callees = &mut self.transfer.effects.inputs.get_mut().callees;
            if let Some(returned) = callees.entry(callee.start).or_insert_with(returns) {
                state.write(Reg::general(0), returned.clone());
            }
            if state.trap == Trap::Survived {
                state.prove(trap::proven_by_call(file, callee), insn.svma);
            }
        }
        Some(state)
    }

    /// Whether what a callee does with what it is given is seen by running it inside its caller.
    fn shows_itself(&self, callee: &Function, state: &State) -> bool {
        /// Maximum of bytes of the function.
        const SMALL: u32 = 4096;
        self.depth < DEPTH
            && callee.end - callee.start <= SMALL
            && !self.given_up.contains(&callee.start)
            && !self.given_to_call(state).is_nothing()
    }

    /// What a call shows of the CPU: by what is proven where it is made, by its arguments, and by what they lead to in the
    /// frame.
    fn given_to_call(&self, state: &State) -> Told {
        let absent = Told { features: state.absent, is_lost: false };
        let mut told = Told::by(state.proof()).union(absent);
        let result = abi::result_place(self.transfer.file.image.arch);
        for reg in self.argument_registers(state).chain(result) {
            let value = state.read(reg);
            told = told.union(Told::of(&value));
            if let Value::Stack(at) = value {
                told = state
                    .frame_between(at, i64::MAX)
                    .fold(told, |told, (_, value)| told.union(Told::of(value)));
            }
        }
        // Arguments on the stack.
        if let Value::Stack(top) = state.read(stack_pointer(self.transfer.file.image.arch)) {
            let passed = state.frame_between(top, top.saturating_add(STACK_ARGUMENTS));
            told = passed.fold(told, |told, (_, value)| told.union(Told::of(value)));
        }
        told
    }

    /// Records what a call shows, also by what it calls where that was chosen: `pointer` is what it goes through.
    fn tell_call(&mut self, pointer: &Value, state: &State) {
        if self.transfer.memory.records_told {
            let told = self.given_to_call(state).union(Told::of(pointer));
            self.transfer.tell(told);
        }
    }

    /// Records that the program, or the thread, ends after some test. That a frame was overwritten is nobody's choice.
    fn tell_end(&mut self, name: Option<&str>, state: &State) {
        if self.transfer.memory.records_told && name != Some("__stack_chk_fail") {
            let absent = Told { features: state.absent, is_lost: false };
            self.transfer.tell(Told::by(state.proof()).union(absent));
        }
    }

    /// The structure in the frame that a callee is to return, where it is given an answer of the CPU: what it fills in is
    /// made of that.
    fn filled_with_answers(&self, state: &State) -> Option<i64> {
        let place = abi::result_place(self.transfer.file.image.arch)?;
        let is_given = self.argument_registers(state).any(|reg| state.read(reg).discriminates(true));
        match state.read(place) {
            Value::Stack(at) if is_given && !state.is_left(place) => Some(at),
            _ => None,
        }
    }

    /// Whether a call hands the address of an answer of the CPU to a small function: it may only load what is there.
    fn is_accessor(&self, callee: &Function, state: &State) -> bool {
        /// Maximum of bytes of the function.
        const SMALL: u32 = 512;
        let is_answer = |reg: Reg| {
            let at = state.read(reg).as_constant();
            at.is_some_and(|at| self.transfer.informs_in(Extent::sized(Svma(at), 8)))
        };
        self.depth < DEPTH
            && callee.end - callee.start <= SMALL
            && !self.given_up.contains(&callee.start)
            && self.argument_registers(state).any(is_answer)
    }

    /// The registers that hold arguments: where one is missing, what is in those after it is none.
    fn argument_registers<'s>(&self, state: &'s State) -> impl Iterator<Item = Reg> + use<'s> {
        let registers = abi::arguments(self.transfer.file.image.arch).iter().copied();
        registers.take_while(|reg| !state.is_left(*reg))
    }

    /// Records the arguments of a call that say something of the CPU, and on request those that are constants.
    fn pass(&mut self, callee: CodeOffset, state: &State, is_jump: bool) {
        let is_flag = |value: &Value| {
            let is_address = |choice: &(u64, Proof)| self.transfer.file.is_place(Svma(choice.0));
            value.is_informative() && !value.choices().iter().any(is_address)
        };
        let records_constants = self.transfer.memory.records_constants && state.proven.is_empty();
        let (mut flags, mut constants) = (Vec::new(), Vec::new());
        for (argument, value) in self.arguments(state, is_jump) {
            if is_flag(&value) {
                flags.push((callee, argument));
            } else if let Some(constant) = value.as_constant().filter(|_| records_constants) {
                constants.push((callee, argument, constant == 0));
            }
        }
        self.transfer.effects.facts.arguments.extend(flags);
        self.transfer.effects.facts.constants.extend(constants);
    }

    /// What a call's arguments are, in registers and on the stack.
    fn arguments(&self, state: &State, is_jump: bool) -> Vec<(Argument, Value)> {
        let arch = self.transfer.file.image.arch;
        let registers = self.argument_registers(state);
        let mut all: Vec<_> = registers.map(|reg| (Argument::Register(reg), state.read(reg))).collect();
        if let Value::Stack(top) = state.read(stack_pointer(arch)) {
            let pushed = if arch == Arch::X86_64 && !is_jump { 8 } else { 0 };
            let above = state.frame_between(top, top.saturating_add(STACK_ARGUMENTS));
            all.extend(above.map(|(at, value)| (Argument::Stack(at - top + pushed), value.clone())));
        }
        all
    }

    /// Runs a callee with what its caller knows.
    fn run_inside(&mut self, callee: &Function, mut state: State) -> Option<State> {
        let arch = self.transfer.file.image.arch;
        let pointer = stack_pointer(arch);
        let before = state.read(pointer);
        if let (Arch::X86_64, Value::Stack(at)) = (arch, &before) {
            state.write(pointer, Value::Stack(at.wrapping_sub(8)));
        }
        state.flags = Flags::Unknown;
        let (outer, last_step) = (self.exit.take(), self.last_step);
        self.depth += 1;
        let is_reader = loads_answers(self.transfer.file, self.summaries, callee);
        let was_reader = std::mem::replace(&mut self.transfer.loads_answers, is_reader);
        let ran = self.function(callee, callee.start, state.clone());
        self.transfer.loads_answers = was_reader;
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
        for &reg in abi::preserved(arch) {
            after.write(reg, state.read(reg));
        }
        after.flags = Flags::Unknown;
        Some(after)
    }

    /// Forgets what a callee may change. `writes`: the registers that it writes, if that is known. `takes_arguments`:
    /// whether what the registers for arguments hold is for it.
    fn clobber(&mut self, state: &mut State, writes: Option<RegSet>, takes_arguments: bool) {
        let file = self.transfer.file;
        let escaped = abi::arguments(file.image.arch)
            .iter()
            .chain(&abi::result_place(file.image.arch))
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
        if file.image.arch == Arch::X86_64 {
            state.forget_vectors();
        }
        let clobbered = abi::clobbered(file.image.arch, file.image.build.is_go);
        let clobbered = clobbered.iter().copied().fold(RegSet::EMPTY, RegSet::with);
        state.leave(writes.map_or(clobbered, |writes| writes.intersection(clobbered)));
        state.flags = Flags::Unknown;
    }
}

/// Whether control comes from a block to the function's end by giving up a frame: then a jump that has none does not lead
/// there. `false` where that is not clear.
fn gives_up_frame(graph: &Graph, block: usize, arch: Arch) -> bool {
    /// Maximum of blocks on the path.
    const FAR: usize = 64;
    let (mut at, mut raised, mut seen) = (block, 0i64, BTreeSet::new());
    while seen.len() < FAR && seen.insert(at) {
        let Some(block) = graph.blocks.get(at) else { return false };
        for insn in block.insns.iter().filter(|insn| insn.writes.contains(stack_pointer(arch))) {
            if matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall | Flow::Return) {
                continue;
            }
            let memory = insn.memory.filter(|memory| memory.write_back);
            let imm = insn.imm.filter(|_| insn.src[0] == insn.dst && insn.dst == Some(stack_pointer(arch)));
            raised += match (insn.operation, imm, memory) {
                (Operation::Push, ..) => -i64::from(insn.width),
                (Operation::Pop, ..) => i64::from(insn.width),
                (Operation::Add, Some(imm), _) => imm,
                (Operation::Sub, Some(imm), _) => imm.wrapping_neg(),
                (_, _, Some(memory)) => memory.displacement,
                _ => return false,
            };
        }
        match block.last().map(|last| last.flow) {
            Some(Flow::Return | Flow::IndirectJump) => return raised > 0,
            _ => match block.successors.first() {
                Some(&next) => at = next,
                None => return raised > 0,
            },
        }
    }
    false
}

/// Joins a state into what other paths know.
fn join_into(known: &mut Option<State>, state: State) {
    match known {
        Some(known) => drop(known.join(&state)),
        None => *known = Some(state),
    }
}

/// Joins a state into a block's, of a loop with more and more iterations; returns whether the block must run again.
fn arrive(states: &mut [Option<State>], block: usize, state: State, is_loop: bool) -> bool {
    match states.get_mut(block) {
        Some(Some(known)) if is_loop => known.widen(&state),
        Some(Some(known)) => known.join(&state),
        Some(place @ None) => {
            *place = Some(state);
            true
        }
        None => false,
    }
}

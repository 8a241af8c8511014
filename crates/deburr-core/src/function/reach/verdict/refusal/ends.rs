//! Where control ends from a place on: whether each path ends the program, and with which status.
//!
//! In: a block, and what registers hold there. Out: [`Ends`], over all paths, callees included as far as they are small.
//! Of a callee that is not followed it is assumed that it comes back. A loop without a way out that calls nothing is an
//! end as well.

use crate::address::{CodeOffset, Svma};
use crate::function::Function;
use crate::function::block::Graph;
use crate::function::reach::domain::state::{Flags, State, stack_pointer};
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::abi;
use crate::function::reach::file::view::View;
use crate::function::reach::machine::effects::Effects;
use crate::function::reach::machine::memory::Memory;
use crate::function::reach::machine::transfer::Transfer;
use crate::function::reach::verdict::refusal::called::Called;
use crate::function::reach::verdict::refusal::status::{Ending, ending, prints};
use crate::insn::{Class, Flow, Insn, Reg, RegSet};
use deburr_cpu::Arch;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum depth of calls that are followed.
const MAX_CALLS_DEEP: u32 = 5;
/// Maximum of blocks that are run from one place on, callees included.
const MAX_BLOCKS: u32 = 1024;
/// Maximum of bytes of a callee that is followed: glibc's `exit` and what it calls are smaller.
const MAX_CALLEE_BYTES: u32 = 2048;
/// Maximum of times that a block is run, each with other values.
const MAX_VISITS: usize = 6;

/// How control ends, over all paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Ends {
    /// It ends the program as failed: `abort`, a trap, a status that is not 0, or a loop that does nothing.
    pub fails: bool,
    /// It throws.
    pub throws: bool,
    /// It ends the program with status 0.
    pub succeeds: bool,
    /// It comes back, or goes where it is not followed.
    pub goes_on: bool,
    /// It comes back with this in the register for results.
    pub returned: Option<Value>,
    /// It calls what is not followed, or a function of its own that comes back, and which does more than to print.
    pub works: bool,
    /// It prints.
    pub prints: bool,
    /// The first text whose address is made on the paths.
    pub text: Option<Svma>,
}

impl Ends {
    fn add(&mut self, other: Ends) {
        self.fails |= other.fails;
        self.throws |= other.throws;
        self.succeeds |= other.succeeds;
        self.goes_on |= other.goes_on;
        self.works |= other.works;
        self.prints |= other.prints;
        self.text = self.text.or(other.text);
        if let Some(value) = other.returned {
            self.come_back(value);
        }
    }

    fn come_back(&mut self, value: Value) {
        self.returned = Some(match &self.returned {
            Some(known) => known.join(&value),
            None => value,
        });
    }
}

/// Follows control to its ends.
pub(super) struct Explorer<'e, 'w, 'a> {
    file: &'e View<'w, 'a>,
    transfer: Transfer<'e, 'w, 'a>,
    /// Blocks that may still be run.
    blocks: u32,
    depth: u32,
    /// By call, whether it never comes back.
    final_calls: FxHashMap<Svma, bool>,
}

/// What running a block came to.
struct Step {
    ends: Ends,
    /// The blocks that run next.
    next: Vec<(usize, State)>,
    /// Whether it calls something.
    acts: bool,
}

impl<'e, 'w, 'a> Explorer<'e, 'w, 'a> {
    pub(super) fn new(file: &'e View<'w, 'a>, memory: &'e Memory) -> Explorer<'e, 'w, 'a> {
        let effects = Effects::default();
        let transfer = Transfer { file, memory, effects, at: Svma(0), loads_answers: false };
        Explorer { file, transfer, blocks: MAX_BLOCKS, depth: 0, final_calls: FxHashMap::default() }
    }

    /// Where control ends from an edge on: out of the block's last instruction, to a place in the function or elsewhere.
    pub(super) fn after_branch(&mut self, graph: &Graph, block: usize, to: Svma) -> Ends {
        self.blocks = MAX_BLOCKS;
        let mut state = self.in_frame(graph);
        let branch = graph.blocks.get(block).and_then(|block| block.insns.split_last());
        if let Some((_, before)) = branch {
            for insn in before {
                self.run_insn(insn, &mut state, &mut Ends::default());
            }
        }
        state.flags = Flags::Unknown;
        match graph.find(to).filter(|&(_, insn)| insn == 0) {
            Some((to, _)) => self.ends_of_block(graph, to, state),
            None => self.out_of_function(to, state),
        }
    }

    /// Where control ends from a block of a function on.
    pub(super) fn ends_at(&mut self, graph: &Graph, block: usize) -> Ends {
        self.blocks = MAX_BLOCKS;
        let state = self.in_frame(graph);
        self.ends_of_block(graph, block, state)
    }

    /// What is known anywhere in a function: the frame that its first block makes.
    fn in_frame(&mut self, graph: &Graph) -> State {
        let arch = self.file.image.arch;
        let mut made = State::entry(arch);
        let first = graph.blocks.first().map(|block| block.insns.as_slice()).unwrap_or_default();
        let prologue = first.iter().take_while(|insn| insn.flow == Flow::Next);
        for insn in prologue {
            self.run_insn(insn, &mut made, &mut Ends::default());
        }
        let mut state = State::entry(arch);
        let frame_pointer = Reg::general(if arch == Arch::X86_64 { 5 } else { 29 });
        for reg in [stack_pointer(arch), frame_pointer] {
            if let value @ Value::Stack(_) = made.read(reg) {
                state.write(reg, value);
            }
        }
        state
    }

    /// Whether a call never comes back.
    pub(super) fn never_returns(&mut self, insn: &Insn) -> bool {
        if let Some(&known) = self.final_calls.get(&insn.svma) {
            return known;
        }
        self.blocks = MAX_BLOCKS;
        let is_final = self.call(insn, &State::entry(self.file.image.arch)).returned.is_none();
        self.final_calls.insert(insn.svma, is_final);
        is_final
    }

    fn out_of_function(&mut self, to: Svma, state: State) -> Ends {
        let mut ends = self.called(Called::at(self.file, to), false, &state);
        ends.goes_on |= ends.returned.is_some() && self.depth == 0;
        ends
    }

    /// Runs blocks until there are no others.
    fn ends_of_block(&mut self, graph: &Graph, first: usize, state: State) -> Ends {
        let mut seen: BTreeMap<usize, Vec<State>> = BTreeMap::new();
        let mut edges: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        // Blocks in which a path ends, and those that act.
        let (mut ending, mut acting) = (Vec::new(), Vec::new());
        let mut pending = vec![(first, state)];
        let mut ends = Ends::default();
        while let Some((index, state)) = pending.pop() {
            let known = seen.entry(index).or_default();
            if known.contains(&state) {
                continue;
            }
            if known.len() >= MAX_VISITS || self.blocks == 0 {
                // With more values than are worth it, such as those of a counter: where that leads is not known.
                ends.works = true;
                ends.goes_on = true;
                continue;
            }
            known.push(state.clone());
            self.blocks -= 1;
            let step = self.block(graph, index, state);
            if step.next.is_empty() {
                ending.push(index);
            }
            if step.acts {
                acting.push(index);
            }
            ends.add(step.ends);
            for (next, state) in step.next {
                edges.entry(next).or_default().push(index);
                pending.push((next, state));
            }
        }
        // What cannot get to an end loops: that is one if it does nothing else.
        let mut leading = ending;
        let mut leads: Vec<usize> = Vec::new();
        while let Some(index) = leading.pop() {
            if !leads.contains(&index) {
                leads.push(index);
                leading.extend(edges.get(&index).into_iter().flatten());
            }
        }
        let mut looping: Vec<usize> = seen.into_keys().filter(|index| !leads.contains(index)).collect();
        // What only leads to a loop is none.
        loop {
            let is_entered = |index: &usize| {
                let from = edges.get(index).into_iter().flatten();
                from.into_iter().any(|from| looping.contains(from))
            };
            let entered: Vec<usize> = looping.iter().copied().filter(is_entered).collect();
            if entered.len() == looping.len() {
                break;
            }
            looping = entered;
        }
        for index in looping {
            match acting.contains(&index) {
                true => ends.goes_on = true,
                false => ends.fails = true,
            }
        }
        ends
    }

    fn block(&mut self, graph: &Graph, index: usize, mut state: State) -> Step {
        let mut step = Step { ends: Ends::default(), next: Vec::new(), acts: false };
        let Some(block) = graph.blocks.get(index) else {
            step.ends.goes_on = true;
            return step;
        };
        for insn in &block.insns {
            match insn.flow {
                Flow::Call(_) | Flow::IndirectCall => {
                    step.acts = true;
                    let mut called = self.call(insn, &state);
                    let returned = called.returned.take();
                    step.ends.add(called);
                    let Some(returned) = returned else { return step };
                    self.after_call(&mut state, returned);
                }
                Flow::Return => {
                    step.ends.come_back(state.read(Reg::general(0)));
                    return step;
                }
                Flow::Stop => {
                    step.ends.fails = true;
                    return step;
                }
                _ if insn.class == Class::SystemCall => {
                    step.acts = true;
                    if let Some(ends) = exit_by_system_call(self.file.image.arch, &state) {
                        step.ends.add(ends);
                        return step;
                    }
                    self.run_insn(insn, &mut state, &mut step.ends);
                }
                _ => self.run_insn(insn, &mut state, &mut step.ends),
            }
        }
        let Some(last) = block.last() else { return step };
        let place = |svma: Svma| graph.find(svma).filter(|&(_, insn)| insn == 0).map(|(block, _)| block);
        match last.flow {
            Flow::Branch(target) => {
                let (taken, passed) = self.transfer.edges(last, state);
                if let Some(state) = taken {
                    self.go(&mut step, place(target), target, state);
                }
                if let Some(state) = passed {
                    self.go(&mut step, place(last.next()), last.next(), state);
                }
            }
            Flow::Jump(target) => self.go(&mut step, place(target), target, state),
            Flow::IndirectJump => {
                let ends = self.call(last, &state);
                step.ends.goes_on |= ends.returned.is_some();
                step.ends.add(ends);
            }
            _ => self.go(&mut step, place(last.next()), last.next(), state),
        }
        step
    }

    fn go(&mut self, step: &mut Step, block: Option<usize>, to: Svma, state: State) {
        match block {
            Some(block) => step.next.push((block, state)),
            None => {
                let ends = self.out_of_function(to, state);
                step.ends.add(ends);
            }
        }
    }

    fn run_insn(&mut self, insn: &Insn, state: &mut State, ends: &mut Ends) {
        self.transfer.at = insn.svma;
        match insn.flow {
            Flow::Call(_) | Flow::IndirectCall => self.after_call(state, Value::Unknown),
            _ => self.transfer.step(insn, state),
        }
        if ends.text.is_none()
            && let Some(made) = insn.dst.and_then(|dst| state.read(dst).as_constant())
        {
            ends.text = Some(Svma(made)).filter(|&svma| text_at(self.file, svma).is_some());
        }
    }

    /// What a call leaves as it was.
    fn after_call(&self, state: &mut State, returned: Value) {
        let image = self.file.image;
        let clobbered = abi::clobbered(image.arch, image.build.is_go);
        state.forget_words();
        state.leave(clobbered.iter().copied().fold(RegSet::EMPTY, RegSet::with));
        state.flags = Flags::Unknown;
        state.write(Reg::general(0), returned);
    }

    /// Where control ends in what is called, or jumped to in its place.
    fn call(&mut self, insn: &Insn, state: &State) -> Ends {
        let is_call = matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall);
        self.called(Called::of(self.file, insn), is_call, state)
    }

    fn called(&mut self, called: Called<'_>, is_call: bool, state: &State) -> Ends {
        let back = |works: bool| Ends { returned: Some(Value::Unknown), works, ..Ends::default() };
        if let Some(ending) = called.name.and_then(ending) {
            return self.ended(ending, state);
        }
        if called.name.is_some_and(prints) {
            return Ends { prints: true, ..back(false) };
        }
        let Some(callee) = called.function else { return back(true) };
        if self.depth >= MAX_CALLS_DEEP || callee.end - callee.start > MAX_CALLEE_BYTES || self.blocks == 0 {
            return back(true);
        }
        self.inside(callee, state.clone(), is_call).unwrap_or_else(|| back(true))
    }

    fn inside(&mut self, callee: &Function, mut state: State, is_call: bool) -> Option<Ends> {
        let arch = self.file.image.arch;
        let graph: Arc<Graph> = self.file.graph(callee)?;
        let (first, _) = graph.find(self.file.image.svma(callee.start))?;
        let pointer = stack_pointer(arch);
        if let (Arch::X86_64, Value::Stack(at), true) = (arch, state.read(pointer), is_call) {
            state.write(pointer, Value::Stack(at.wrapping_sub(8)));
        }
        state.flags = Flags::Unknown;
        self.depth += 1;
        let mut ends = self.ends_of_block(&graph, first, state);
        self.depth -= 1;
        if ends.throws && !handlers(self.file, &graph).is_empty() {
            ends.throws = false;
            ends.come_back(Value::Unknown);
        }
        if self.blocks == 0 || ends.goes_on {
            ends.goes_on = false;
            ends.works = true;
            ends.come_back(Value::Unknown);
        }
        ends.works |= ends.returned.is_some() && !ends.prints;
        Some(ends)
    }

    fn ended(&self, ending: Ending, state: &State) -> Ends {
        let mut ends = Ends::default();
        match ending {
            Ending::Fails => ends.fails = true,
            Ending::Throws => ends.throws = true,
            Ending::Elsewhere => ends.goes_on = true,
            Ending::Status => {
                let is_go = self.file.image.build.is_go;
                let first = if is_go {
                    Some(Reg::general(0))
                } else {
                    abi::arguments(self.file.image.arch).first().copied()
                };
                return status(&first.map_or(Value::Unknown, |reg| state.read(reg)));
            }
        }
        ends
    }
}

/// How a program ends with a status.
fn status(value: &Value) -> Ends {
    let choices = value.choices();
    let is_failure = |&(status, _): &(u64, _)| status & 0xff != 0;
    let mut ends = Ends::default();
    match choices {
        [] => ends.goes_on = true,
        choices => {
            ends.fails = choices.iter().any(is_failure);
            ends.succeeds = !choices.iter().all(is_failure);
        }
    }
    ends
}

/// `exit` and `exit_group` of Linux.
fn exit_by_system_call(arch: Arch, state: &State) -> Option<Ends> {
    let (number, argument, exits) = match arch {
        Arch::X86_64 => (Reg::general(0), Reg::general(7), [60, 231]),
        Arch::Aarch64 => (Reg::general(8), Reg::general(0), [93, 94]),
    };
    let number = state.read(number).as_constant()?;
    exits.contains(&number).then(|| status(&state.read(argument)))
}

/// The blocks of a function that catch what is thrown below it.
pub(super) fn handlers(file: &View<'_, '_>, graph: &Graph) -> Vec<usize> {
    let catches = |insn: &Insn| {
        matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall)
            && Called::of(file, insn).name == Some("__cxa_begin_catch")
    };
    let blocks = graph.blocks.iter().enumerate();
    blocks.filter(|(_, block)| block.insns.iter().any(catches)).map(|(index, _)| index).collect()
}

/// What is printed from an address, if it is a text of some length: up to its end, or the end of its line.
pub(super) fn text_at(file: &View<'_, '_>, svma: Svma) -> Option<String> {
    /// Fewest and most bytes of a text that says why.
    const LENGTHS: std::ops::RangeInclusive<usize> = 8..=200;
    if file.image.code_offset(svma).is_some_and(|at: CodeOffset| file.program.function_from(at).is_some()) {
        return None;
    }
    let data = file.linkage.data_at(svma)?;
    let from = usize::try_from(svma.since(data.extent.start)?).ok()?;
    let bytes = data.bytes.get(from..)?;
    let is_printed = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    let length = bytes.iter().take(*LENGTHS.end()).take_while(|byte| is_printed(byte)).count();
    let text = bytes.get(..length).filter(|_| LENGTHS.contains(&length))?;
    let text = deburr_text::shown(text).trim().to_owned();
    text.contains(' ').then_some(text)
}

//! Which functions lead to which, by calls, by addresses, and by objects that hold addresses.

use crate::function;
use crate::image::linkage::Import;
use crate::insn::operations::{Block, Exit, Mention, MentionKind, Operand, Operation};
use crate::reach::abi::Abi;
use crate::reach::knowledge::{self, Behaviour};
use crate::reach::memory::file::{File, Target};
use crate::reach::value::pool::Places;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The C library's function for entries of the auxiliary vector; with underscores before it, its name for itself.
const GETAUXVAL: &str = "getauxval";

/// A function or an object, by number: functions first.
pub(super) type Vertex = u32;

/// What is known of a function by itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Function {
    pub bytes: u32,
    /// Whether control leaves it for a caller, or by a jump.
    pub returns: bool,
    /// Whether it asks what the CPU is.
    pub queries: bool,
    /// Whether it calls functions that may say something of the CPU.
    pub is_open: bool,
    pub uses_thread: bool,
    /// The functions that it calls.
    pub callees: Vec<Vertex>,
    /// The words of data that it reads or writes by their addresses, and that the program may write to.
    pub used: Vec<u64>,
    /// The addresses of such data that it makes.
    pub taken: Vec<u64>,
}

/// The functions and objects of a file, and which name which.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub functions: Vec<Function>,
    /// By function and object, what it names.
    pub edges: Vec<Vec<Vertex>>,
    /// By where it begins, an object's number.
    pub objects: FxHashMap<u64, Vertex>,
    /// Where the objects begin, in the order of their numbers, if the program may write to them.
    writable: Vec<Option<u64>>,
}

impl Graph {
    /// Of all code of a file.
    pub(super) fn new(file: &File<'_, '_>, places: &Places, mentions: &[Mention]) -> Graph {
        let program = file.program;
        let all = program.functions();
        let mut graph = Graph {
            functions: vec![Function::default(); all.len()],
            edges: vec![Vec::new(); all.len()],
            objects: FxHashMap::default(),
            writable: Vec::new(),
        };
        for function in all {
            if let Some(whole) = program.whole_index_at(function.start)
                && let Some(it) = graph.functions.get_mut(whole)
            {
                it.bytes += function.end.0.saturating_sub(function.start.0);
            }
        }
        let mut current: Option<(u64, u64, Vertex)> = None;
        for mention in mentions {
            let is_inside = current.is_some_and(|it| (it.0..it.1).contains(&mention.at.0));
            if !is_inside {
                let at = file.image.code_offset(mention.at);
                let part = at.and_then(|at| program.function_at(at));
                current = at.zip(part).and_then(|(at, part)| {
                    let (start, end) = (file.image.svma(part.start), file.image.svma(part.end));
                    Some((start.0, end.0, program.whole_index_at(at)? as Vertex))
                });
            }
            if let Some((_, _, function)) = current {
                graph.add(file, places, function, mention);
            }
        }
        for (function, range) in graph.functions.iter_mut().zip(all) {
            function.returns = function.returns || falls_through(file, range);
            function.callees.sort_unstable();
            function.callees.dedup();
            for places in [&mut function.used, &mut function.taken] {
                places.sort_unstable();
                places.dedup();
            }
        }
        for names in &mut graph.edges {
            names.sort_unstable();
            names.dedup();
        }
        graph
    }

    fn add(&mut self, file: &File<'_, '_>, places: &Places, function: Vertex, mention: &Mention) {
        let Some(it) = self.functions.get_mut(function as usize) else { return };
        let place = mention.place.wrapping_add(file.bias);
        match mention.kind {
            MentionKind::Left => it.returns = true,
            MentionKind::Queried => it.queries = true,
            MentionKind::ThreadUsed => it.uses_thread = true,
            MentionKind::Called => {
                self.enter(file, function, place);
            }
            // A jump out of the function may come back to its caller.
            MentionKind::Jumped => {
                let is_elsewhere = self.enter(file, function, place);
                if let Some(it) = self.functions.get_mut(function as usize) {
                    it.returns |= is_elsewhere;
                }
            }
            MentionKind::Used | MentionKind::Taken | MentionKind::PerhapsTaken => {
                self.name(file, places, (function, place), Some(mention))
            }
        }
    }

    /// The number of the function that an address is in.
    pub(super) fn function_at(file: &File<'_, '_>, address: u64) -> Option<Vertex> {
        let at = file.image.code_offset(file.svma(address))?;
        Some(file.program.whole_index_at(at)? as Vertex)
    }

    /// A function calls something, or jumps there. Returns whether that is elsewhere.
    fn enter(&mut self, file: &File<'_, '_>, function: Vertex, place: u64) -> bool {
        if Graph::function_at(file, place) == Some(function) {
            return false;
        }
        match file.target(place) {
            Target::Code(code) => {
                if let Some(callee) = Graph::function_at(file, code) {
                    self.call(function, callee);
                }
            }
            Target::Word(word) => self.word(file, function, word),
        }
        true
    }

    fn call(&mut self, function: Vertex, callee: Vertex) {
        if let Some(it) = self.functions.get_mut(function as usize) {
            it.callees.push(callee);
        }
        self.join(function, callee);
    }

    /// A function uses a word that may hold another file's function, or one of this file's.
    fn word(&mut self, file: &File<'_, '_>, function: Vertex, word: u64) {
        let svma = file.svma(word);
        if let Some(import) = file.linkage.import(svma) {
            self.import(file, function, import);
        } else if let Some(to) = file.linkage.cell(svma)
            && let Some(callee) = Graph::function_at(file, file.address(to))
        {
            self.call(function, callee);
        }
    }

    fn import(&mut self, file: &File<'_, '_>, function: Vertex, import: &Import<'_>) {
        let name = import.name;
        let does = knowledge::behaviour(name);
        let answers = matches!(does, Some(Behaviour::AnswersLeaf | Behaviour::ReadsAuxiliary))
            || crate::function::reach::Checks::answers(name);
        let queries = answers && !(name.ends_with(GETAUXVAL) && asks_of_others(file, function));
        let Some(it) = self.functions.get_mut(function as usize) else { return };
        it.queries |= queries;
        it.uses_thread |= does == Some(Behaviour::FindsThreadMemory);
        it.is_open |= !knowledge::is_silent(name) && (queries || !answers);
    }

    fn join(&mut self, from: Vertex, to: Vertex) {
        if let Some(names) = self.edges.get_mut(from as usize)
            && names.last() != Some(&to)
        {
            names.push(to);
        }
    }

    /// A function, by some mention, or an object names a place.
    fn name(
        &mut self,
        file: &File<'_, '_>,
        places: &Places,
        (by, place): (Vertex, u64),
        mention: Option<&Mention>,
    ) {
        if places.is_code(place) {
            if let Some(to) = Graph::function_at(file, place)
                && to != by
            {
                self.join(by, to);
            }
            return;
        }
        let Some(data) = file.linkage.data_at(file.svma(place)) else { return };
        let object = places.object(place);
        if let Some(mention) = mention {
            self.word(file, by, place);
            let through = file.linkage.cell(file.svma(place)).filter(|_| data.is_offset_table);
            let through = through.map(|to| file.address(to)).filter(|&to| file.is_writable(to));
            if let Some(it) = self.functions.get_mut(by as usize) {
                match mention.kind {
                    // A load from the linker's table of addresses takes the address that it holds.
                    _ if through.is_some() => it.taken.extend(through),
                    _ if !data.is_writable => {}
                    MentionKind::Taken | MentionKind::PerhapsTaken => it.taken.push(place),
                    _ => {
                        let end = place.saturating_add(u64::from(mention.bytes.max(1)));
                        it.used.extend((place & !7..end).step_by(8));
                    }
                }
            }
        }
        let vertex = self.object(file, places, object);
        self.join(by, vertex);
    }

    /// The number of an object. The first time, the addresses that it holds before any code runs are added.
    fn object(&mut self, file: &File<'_, '_>, places: &Places, start: u64) -> Vertex {
        if let Some(&known) = self.objects.get(&start) {
            return known;
        }
        let mut pending = vec![start];
        self.add_object(file, start);
        while let Some(object) = pending.pop() {
            let Some(&vertex) = self.objects.get(&object) else { continue };
            for pointer in file.pointers_in(places, object) {
                if places.is_code(pointer) {
                    self.name(file, places, (vertex, pointer), None);
                    continue;
                }
                let to = places.object(pointer);
                if !self.objects.contains_key(&to) {
                    self.add_object(file, to);
                    pending.push(to);
                }
                if let Some(&to) = self.objects.get(&to) {
                    self.join(vertex, to);
                }
            }
        }
        self.objects.get(&start).copied().unwrap_or_default()
    }

    fn add_object(&mut self, file: &File<'_, '_>, start: u64) {
        self.objects.insert(start, self.edges.len() as Vertex);
        self.edges.push(Vec::new());
        self.writable.push(Some(start).filter(|&start| file.is_writable(start)));
    }

    /// Where an object begins that the program may write to, by its number.
    pub(super) fn writable_object(&self, vertex: Vertex) -> Option<u64> {
        *self.writable.get((vertex as usize).checked_sub(self.functions.len())?)?
    }
}

/// Whether a function calls `getauxval` only for entries of the auxiliary vector that say nothing of the CPU.
fn asks_of_others(file: &File<'_, '_>, function: Vertex) -> bool {
    let Some(function) = file.program.functions().get(function as usize) else { return false };
    let first = Abi::of(file.image.arch).argument(0);
    let is_for_others = |(_, block): (u64, Rc<Block>)| {
        let Some(Target::Word(word)) = file.callee(&block) else { return None };
        file.linkage.import(file.svma(word)).filter(|import| import.name.ends_with(GETAUXVAL))?;
        let entry = block.operations.iter().rev().find_map(|(_, operation)| match operation {
            Operation::Move { to: Operand::Register { number, .. }, from } if *number == first => Some(*from),
            _ => None,
        });
        Some(matches!(entry, Some(Operand::Immediate(entry)) if !knowledge::is_of_the_cpu(entry)))
    };
    let calls: Vec<bool> = file.blocks(function).filter_map(is_for_others).collect();
    !calls.is_empty() && !calls.contains(&false)
}

/// Whether the last instruction of a function goes on to what stands after it, as assemblers' code may.
fn falls_through(file: &File<'_, '_>, function: &function::Function) -> bool {
    let end = file.address(file.image.svma(function.end));
    // A block does not end where a symbol says that a function does.
    file.blocks(function).last().is_some_and(|(_, block)| {
        block.end.0 > end || matches!(block.exit, Exit::Next(_) | Exit::Branch { .. })
    })
}

//! Which registers are read after a place before they are written. What others hold there is of no use: it is neither joined nor lost.
//!
//! In: the blocks of a function. Out: bits by block. Backward data flow (Aho, Lam, Sethi and Ullman, 9.2.5), over-approximated: a call
//! of this file's code overwrites nothing, as compilers know which registers such a callee leaves alone. What is only moved to where
//! nobody reads it is not read (Giegerich, Möncke and Wilhelm, 1981): code that saves a register around `cpuid` moves it so.

use super::arguments::{overwrites, reads, saved, source};
use super::control::is_table;
use super::limits::MAX_LIVENESS_BLOCKS;
use super::run::Run;
use crate::engine::solver::{Equations, NodeId, Worklist, solve};
use crate::insn::operations::{Block, Exit, Operand, Operation, Test, VECTORS};
use crate::reach::abi::{GENERAL, bits};
use crate::reach::memory::file::Target;
use rustc_hash::FxHashMap;

/// Every general register.
const EVERY: u64 = GENERAL;
/// Where those begin that are live only because the function returns.
const RETURNED: u8 = VECTORS;
/// A register as read, and as returned.
const EACH: u64 = 1 | 1 << RETURNED;

/// What happens to registers at one place.
#[derive(Debug, Clone, Copy)]
enum Transfer {
    /// Some are read, and then some overwritten.
    Use { read: u64, written: u64 },
    /// One is moved to another.
    Copy { to: u8, from: u8 },
    /// Two change places.
    Swap(u8, u8),
}

impl Transfer {
    /// `saves`: whether a register that is pushed holds what the caller had in it.
    fn of(operation: &Operation, saves: bool) -> Transfer {
        match *operation {
            Operation::Move {
                to: Operand::Register { number: to, size: 4 | 8 },
                from: Operand::Register { number: from, .. },
            } => Transfer::Copy { to, from },
            Operation::Exchange {
                left: Operand::Register { number: left, size: 8 },
                right: Operand::Register { number: right, size: 8 },
            } => Transfer::Swap(left, right),
            _ if !saves => {
                Transfer::Use { read: reads(operation) | saved(operation), written: overwrites(operation) }
            }
            _ => Transfer::Use { read: reads(operation), written: overwrites(operation) },
        }
    }

    /// What is live before it, by what is live after it.
    fn before(self, after: u64) -> u64 {
        let is_live = |number: u8| after >> number & EACH != 0;
        let without = |number: u8| !(EACH << number);
        match self {
            Transfer::Use { read, written } => after & !(written | written << RETURNED) | read,
            Transfer::Copy { to, from } if to == from => after,
            Transfer::Copy { to, from } => after & without(to) | u64::from(is_live(to)) << from,
            Transfer::Swap(one, other) => {
                let rest = after & without(one) & without(other);
                rest | u64::from(is_live(one)) << other | u64::from(is_live(other)) << one
            }
        }
    }
}

/// A block, and what is live where it begins.
#[derive(Debug, Default)]
struct Lives {
    transfers: Vec<Transfer>,
    /// What is overwritten in it.
    written: u64,
    /// What is read in it, also after it was written.
    mentioned: u64,
    /// What counts as read where it begins.
    entered_with: u64,
    /// Whether it ends in a jump through a table.
    is_table: bool,
    /// What is live at its end without the blocks after it.
    after: u64,
    next: Vec<NodeId>,
    before: Vec<NodeId>,
    live: u64,
}

struct Liveness {
    blocks: Vec<Lives>,
    worklist: Worklist,
}

impl Equations for Liveness {
    fn worklist(&mut self) -> &mut Worklist {
        &mut self.worklist
    }
    fn evaluate(&mut self, node: NodeId) -> u64 {
        let Some(block) = self.blocks.get(node as usize) else { return 1 };
        let next = block.next.iter().filter_map(|next| self.blocks.get(*next as usize));
        let after = next.fold(block.after, |live, next| live | next.live);
        let live = block.transfers.iter().rev().fold(after, |live, transfer| transfer.before(live))
            | block.entered_with;
        let before = if live == block.live { Vec::new() } else { block.before.clone() };
        if let Some(block) = self.blocks.get_mut(node as usize) {
            block.live = live;
        }
        for before in before {
            self.worklist.add((NodeId::MAX - before).into(), before);
        }
        1
    }
}

impl Run<'_, '_, '_> {
    /// The registers that are live, by what [`Run::live_in`] says, where some of a function's results are read.
    pub(super) fn live_registers(&self, live: u64, wanted: [bool; 2]) -> u64 {
        let results = self.abi.results.into_iter().zip(wanted).filter(|it| it.1);
        let wanted = results.fold(0, |bits, (number, _)| bits | 1 << number);
        live & GENERAL | live >> RETURNED & wanted | 1 << self.abi.stack_pointer
    }

    /// The registers that a function may return something in, as returned.
    fn results(&self) -> u64 {
        bits(&self.abi.results) << RETURNED
    }

    /// The general registers that may be read after a place of a function before they are written, as bits; from bit 32 on those that
    /// the function may return something in.
    pub(super) fn live_in(&mut self, function: u64, at: u64) -> u64 {
        let results = self.results();
        if let Some(&live) = self.live.get(&at) {
            return live;
        }
        if self.without_liveness.contains(&function) {
            return EVERY | results;
        }
        let (mut numbers, mut places): (FxHashMap<u64, NodeId>, Vec<u64>) =
            (FxHashMap::default(), Vec::new());
        let mut blocks: Vec<Lives> = Vec::new();
        let mut number = |places: &mut Vec<u64>, at: u64| {
            *numbers.entry(at).or_insert_with(|| {
                places.push(at);
                (places.len() - 1) as NodeId
            })
        };
        number(&mut places, at);
        while let Some(&place) = places.get(blocks.len()) {
            let block = self.file.block(place);
            let (mut lives, next) = self.lives(function, &block);
            lives.next = next.into_iter().map(|next| number(&mut places, next)).collect();
            blocks.push(lives);
            if places.len() > MAX_LIVENESS_BLOCKS {
                self.extra_cost += blocks.len() as u64;
                self.without_liveness.insert(function);
                return EVERY | results;
            }
        }
        self.extra_cost += blocks.len() as u64;
        // A table may lead into the middle of a block, past what overwrites a register there.
        let mentioned = blocks.iter().fold(results, |all, block| all | block.mentioned);
        for block in blocks.iter_mut().filter(|block| block.is_table) {
            block.entered_with = mentioned & !(block.written | block.written << RETURNED);
        }
        let mut worklist = Worklist::default();
        for index in 0..blocks.len() {
            for next in blocks.get(index).map(|it| it.next.clone()).unwrap_or_default() {
                if let Some(next) = blocks.get_mut(next as usize) {
                    next.before.push(index as NodeId);
                }
            }
            worklist.add(u64::from(NodeId::MAX) - index as u64, index as NodeId);
        }
        let mut liveness = Liveness { blocks, worklist };
        // A bit of a block is set once, and never cleared.
        solve(&mut liveness, u64::MAX);
        let found = places.into_iter().zip(liveness.blocks).map(|(at, block)| (at, block.live));
        self.live.extend(found);
        self.live.get(&at).copied().unwrap_or(EVERY | results)
    }

    /// What a block reads and writes, and where in the function control goes from it.
    fn lives(&mut self, function: u64, block: &Block) -> (Lives, Vec<u64>) {
        let results = self.results();
        let mut lives = Lives::default();
        for (_, operation) in &block.operations {
            let is_own = saved(operation) & lives.written != 0;
            lives.transfers.push(Transfer::of(operation, block.start.0 == function && !is_own));
            lives.mentioned |= reads(operation);
            lives.written |= overwrites(operation);
        }
        let mut next = Vec::new();
        let mut used = 0;
        let mut go = |run: &mut Self, to: u64, used: &mut u64| match run.file.function(to) == function {
            true => next.push(to),
            false => {
                *used |= run.arguments_of_target(run.file.target(to), 0, block);
                lives.after = results;
            }
        };
        match block.exit {
            Exit::Next(to) => go(self, to.0, &mut used),
            Exit::Jump(to) => go(self, to.0, &mut used),
            Exit::Branch { test, target, next } => {
                if let Test::Zero { number, .. } = test {
                    used |= 1 << number;
                }
                go(self, target.0, &mut used);
                go(self, next.0, &mut used);
            }
            Exit::JumpIndirect(target) if is_table(block) => {
                used = source(&target);
                next = self.file.orphans(function);
                lives.is_table = true;
            }
            Exit::JumpIndirect(_) => used = EVERY | results,
            Exit::Return => lives.after = results,
            Exit::Call { .. } | Exit::CallIndirect { .. } | Exit::Stop => {}
        }
        let callee = self.file.callee(block);
        if let (Exit::CallIndirect { target, .. }, None) = (block.exit, callee) {
            used = source(&target) | self.abi.all_arguments();
        }
        if let Some(callee) = callee {
            used = self.arguments_of_target(callee, 0, block);
        }
        if let Exit::Call { next: after, .. } | Exit::CallIndirect { next: after, .. } = block.exit
            && callee.is_none_or(|callee| self.comes_back(callee))
        {
            next.push(after.0);
        }
        next.extend(self.file.landing_pad(block.exit_at.0));
        lives.mentioned |= used;
        let mut written = 0;
        // Code of another file keeps to the ABI.
        if let Some(Target::Word(word)) = callee
            && let Some(name) = self.import_of_word(word)
        {
            written = self.clobbered_by(name) & EVERY;
        }
        lives.transfers.push(Transfer::Use { read: used, written });
        lives.written |= written;
        (lives, next)
    }
}

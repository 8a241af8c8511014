//! Which registers a function reads before it writes them: its arguments. And whether it returns what it has allocated.

use super::limits::{MAX_ALLOCATOR_BLOCKS, MAX_ARGUMENT_BLOCKS, MAX_ARGUMENT_DEPTH, MAX_SMALL_BLOCKS};
use super::run::Run;
use crate::insn::operations::{Address, Block, Exit, Operand, Operation, Test, VECTORS, VectorOperand};
use crate::reach::abi::GENERAL;
use crate::reach::knowledge::{self, Behaviour, Passed};
use crate::reach::memory::file::Target;
use crate::reach::value::region;
use rustc_hash::FxHashMap;

fn in_address(address: &Address) -> u64 {
    let bit = |register: Option<u8>| register.map_or(0, |number| 1_u64 << number);
    bit(address.base) | bit(address.index)
}

/// The registers that an operand reads as a source.
pub(super) fn source(operand: &Operand) -> u64 {
    match operand {
        Operand::Register { number, .. }
        | Operand::HighByte(number)
        | Operand::Changed { taken: (number, _), .. } => 1 << number,
        Operand::Memory(address) => in_address(address),
        Operand::Immediate(_) => 0,
    }
}

/// The registers that an operand reads as a destination.
fn destination(operand: &Operand) -> u64 {
    match operand {
        Operand::Memory(address) => in_address(address),
        _ => 0,
    }
}

fn vector_source(operand: &VectorOperand) -> u64 {
    match operand {
        VectorOperand::Memory(address) => in_address(address),
        VectorOperand::General { number, .. } => 1 << number,
        VectorOperand::Vector(_) => 0,
    }
}

fn vector_destination(operand: &VectorOperand) -> u64 {
    if let VectorOperand::Memory(address) = operand { in_address(address) } else { 0 }
}

/// The register that an operation saves for the caller, as bits.
pub(super) fn saved(operation: &Operation) -> u64 {
    match operation {
        Operation::Push(Operand::Register { number: number @ (3 | 5 | 12..=15), .. }) => 1 << number,
        Operation::Move {
            to: Operand::Memory(Address { base: Some(31), index: None, .. }),
            from: Operand::Register { number: number @ 19..=30, size: 8 },
        } => 1 << number,
        _ => 0,
    }
}

/// The general registers that an operation reads, as bits. What is only saved is not used.
pub(super) fn reads(operation: &Operation) -> u64 {
    use Operation as O;
    match operation {
        // A narrow write does not read the register: compilers extend a result before they use more of it.
        O::Move { to, from } | O::MoveSigned { to, from } => {
            destination(to) | source(from) & !saved(operation)
        }
        O::TakeAddress { address, .. } => in_address(address),
        O::Compute { to, left, right, .. } => destination(to) | source(left) | source(right),
        O::Select { to, then, otherwise, .. } => destination(to) | source(then) | source(otherwise),
        O::MultiplyAdd { to, added, left, right, .. } => {
            destination(to) | source(added) | source(left) | source(right)
        }
        O::MoveBits { to, from, keeps_rest: false, .. } => destination(to) | source(from),
        O::WithCarry { to, from, .. } | O::MoveBits { to, from, .. } => source(to) | source(from),
        O::CompareExchange { to, from, expected, .. } => source(to) | source(from) | 1 << expected,
        O::Fetch { to, by, old, .. } => source(to) | source(by) | destination(old),
        O::StoreExclusive { to, from, .. } => destination(to) | source(from),
        O::Exchange { left, right }
        | O::Compare { left, right }
        | O::CompareIf { left, right, .. }
        | O::Test { left, right } => source(left) | source(right),
        O::TestBit { value, bit } => source(value) | source(bit),
        O::ShiftDouble { to, from, count, .. } => source(to) | source(from) | source(count),
        O::Unary { to, .. } | O::Step { to, .. } => source(to),
        O::CountBits { to, from, .. } => destination(to) | source(from),
        O::SetIf { to, .. } | O::Pop(to) => destination(to),
        O::Push(operand) => source(operand) & !saved(operation),
        O::ExtendAccumulator(_) | O::SpreadSign(_) => 1,
        O::CpuId => 0b11,
        O::MoveVector { to, from, .. } => vector_destination(to) | vector_source(from),
        O::InsertLane { from, .. } | O::Duplicate { from, .. } => vector_source(from),
        O::ExtractLane { to, .. } => vector_destination(to),
        O::FillMemory(_) => 1 | 1 << 1 | 1 << 7,
        O::CopyMemory(_) => 1 << 1 | 1 << 6 | 1 << 7,
        O::Other(clobbered) => {
            let places = [clobbered.loaded, clobbered.stored].into_iter().flatten();
            places.fold(clobbered.read & GENERAL, |bits, (address, _)| bits | in_address(&address))
        }
        O::Clear(_) | O::Leave | O::ReadExtendedControl | O::ReadSystem { .. } | O::ClearVector(_) => 0,
    }
}

/// The general registers that an operation surely overwrites as a whole.
pub(super) fn overwrites(operation: &Operation) -> u64 {
    use Operation as O;
    let whole = |operand: &Operand| match operand {
        Operand::Register { number, size } if *size >= 4 => 1_u64 << number,
        _ => 0,
    };
    match operation {
        O::Move { to, .. } | O::MoveSigned { to, .. } | O::CountBits { to, .. } | O::Pop(to) => whole(to),
        // On x86-64 what a computation overwrites it reads before.
        O::Compute { to, .. } | O::Select { to, .. } | O::MultiplyAdd { to, .. } => whole(to),
        O::MoveBits { to, keeps_rest: false, .. } => whole(to),
        O::Fetch { old, .. } => whole(old),
        O::TakeAddress { to, .. } | O::Clear(to) | O::ReadSystem { to, .. } => 1 << to,
        O::StoreExclusive { status, .. } => 1 << status,
        O::CpuId => 0b1111,
        O::ReadExtendedControl => 0b101,
        _ => 0,
    }
}

/// The registers that an operation may write, vector registers from bit 16 on.
pub(super) fn writes(operation: &Operation) -> u64 {
    use Operation as O;
    let register = |operand: &Operand| match operand {
        Operand::Register { number, .. } | Operand::HighByte(number) => 1_u64 << number,
        _ => 0,
    };
    let vector = |operand: &VectorOperand| match operand {
        VectorOperand::Vector(number) => 1_u64 << (VECTORS + number),
        VectorOperand::General { number, .. } => 1 << number,
        VectorOperand::Memory(_) => 0,
    };
    match operation {
        O::Move { to, .. }
        | O::MoveSigned { to, .. }
        | O::Compute { to, .. }
        | O::WithCarry { to, .. }
        | O::ShiftDouble { to, .. }
        | O::Unary { to, .. }
        | O::Step { to, .. }
        | O::CountBits { to, .. }
        | O::SetIf { to, .. }
        | O::Select { to, .. }
        | O::MultiplyAdd { to, .. }
        | O::MoveBits { to, .. }
        | O::Pop(to) => register(to),
        O::TakeAddress { to, .. } | O::Clear(to) | O::ReadSystem { to, .. } => 1 << to,
        O::Exchange { left, right } => register(left) | register(right),
        O::Fetch { to, old, .. } => register(to) | register(old),
        O::CompareExchange { to, expected, .. } => register(to) | 1 << expected,
        O::StoreExclusive { status, .. } => 1 << status,
        O::ExtendAccumulator(_) => 1,
        O::SpreadSign(_) => 1 << 2,
        O::CpuId => 0b1111,
        O::ReadExtendedControl => 0b101,
        O::MoveVector { to, .. } | O::ExtractLane { to, .. } => vector(to),
        O::InsertLane { to, .. } | O::Duplicate { to, .. } | O::ClearVector(to) => 1 << (VECTORS + to),
        O::FillMemory(_) => 1 << 1 | 1 << 7,
        O::CopyMemory(_) => 1 << 1 | 1 << 6 | 1 << 7,
        O::Other(clobbered) => clobbered.written,
        O::Compare { .. }
        | O::CompareIf { .. }
        | O::Test { .. }
        | O::TestBit { .. }
        | O::Push(_)
        | O::Leave => 0,
    }
}

impl<'r> Run<'r, '_, '_> {
    /// The registers that a function may read before it writes them, as bits: the argument registers where it is too large.
    pub(super) fn arguments_of(&mut self, function: u64, depth: u32) -> u64 {
        if let Some(&known) = self.arguments.get(&function) {
            return known;
        }
        let all = self.abi.all_arguments();
        if depth > MAX_ARGUMENT_DEPTH {
            return all;
        }
        // Of a cycle of calls, what the other parts of it read is enough.
        self.arguments.insert(function, all);
        let mut seen: FxHashMap<u64, u64> = FxHashMap::default();
        let mut pending = vec![(function, 0_u64)];
        let (mut read, mut count) = (0, 0);
        while let Some((at, written)) = pending.pop() {
            let known = seen.entry(at).or_insert(u64::MAX);
            if *known & written == *known {
                continue;
            }
            *known &= written;
            let mut written = *known;
            count += 1;
            if count > MAX_ARGUMENT_BLOCKS || read & all == all {
                read = all;
                break;
            }
            let block = self.file.block(at);
            for (_, operation) in &block.operations {
                read |= reads(operation) & !written;
                written |= overwrites(operation);
            }
            let mut leave = |run: &mut Self, to: u64, pending: &mut Vec<(u64, u64)>| {
                if run.file.function(to) == function && to != function {
                    pending.push((to, written));
                } else {
                    read |= run.arguments_of_target(run.file.target(to), depth, &block) & !written;
                }
            };
            match block.exit {
                Exit::Next(to) => pending.push((to.0, written)),
                Exit::Jump(to) => leave(self, to.0, &mut pending),
                Exit::Branch { test, target, next } => {
                    leave(self, target.0, &mut pending);
                    pending.push((next.0, written));
                    if let Test::Zero { number, .. } = test {
                        read |= 1 << number & !written;
                    }
                }
                Exit::Call { next, .. } | Exit::CallIndirect { next, .. } => {
                    let callee = self.file.callee(&block);
                    let passed = callee.map(|callee| self.arguments_of_target(callee, depth, &block));
                    let pointer =
                        if let Exit::CallIndirect { target, .. } = block.exit { source(&target) } else { 0 };
                    read |= passed.unwrap_or(pointer | all) & !written;
                    if callee.is_none_or(|callee| self.comes_back(callee)) {
                        pending.push((next.0, written | self.overwritten_by(callee)));
                    }
                }
                Exit::JumpIndirect(target) => read |= (source(&target) | all) & !written,
                Exit::Return | Exit::Stop => {}
            }
        }
        let read = read & GENERAL & !(1 << self.abi.stack_pointer);
        self.arguments.insert(function, read);
        read
    }

    /// The same of what a block calls.
    pub(super) fn arguments_of_target(&mut self, target: Target, depth: u32, block: &Block) -> u64 {
        match self.file.settled(target) {
            Target::Code(function) => self.arguments_of(function, depth + 1),
            Target::Word(word) => {
                let taken = |register: u8| {
                    block.operations.iter().rev().find_map(|(_, operation)| match operation {
                        Operation::TakeAddress { to, address, .. } if *to == register => {
                            address.is_static().then_some(address.displacement)
                        }
                        _ => None,
                    })
                };
                let count = self.import_of_word(word).and_then(|name| self.passed(name, taken));
                count.map_or(self.abi.all_arguments(), |count| {
                    self.abi.arguments.iter().take(count).fold(0, |bits, number| bits | 1 << number)
                })
            }
        }
    }

    /// The argument registers that hold something else after a call.
    fn overwritten_by(&mut self, callee: Option<Target>) -> u64 {
        let name = match callee {
            Some(Target::Word(word)) => self.import_of_word(word),
            _ => None,
        };
        name.map_or(self.abi.caller_saved, |name| self.clobbered_by(name)) & self.abi.all_arguments()
    }

    /// Whether a call may come back. The code after a call that does not belongs to another path.
    pub(super) fn comes_back(&mut self, target: Target) -> bool {
        match self.file.settled(target) {
            Target::Code(function) => self.demand.returns(self.file, function),
            Target::Word(word) => {
                let does = self.import_of_word(word).and_then(knowledge::behaviour);
                !matches!(does, Some(Behaviour::Ends | Behaviour::Throws))
            }
        }
    }

    /// Maximum number of the arguments that an import is passed, if it is known. `address`: the address in a register, if it holds one.
    pub(super) fn passed(&self, name: &str, address: impl Fn(u8) -> Option<u64>) -> Option<usize> {
        let count = match knowledge::passed(name)? {
            Passed::Registers(count) => count.into(),
            Passed::ByFormat(place) => {
                let format = address(self.abi.argument(place.into()))?;
                usize::from(place) + 1 + self.file.conversions(format)?
            }
        };
        // The C library takes no arguments in the two after these.
        Some(count.min(self.abi.integers))
    }

    /// The name of the function of another file that a word leads to.
    pub(super) fn import_of_word(&mut self, word: u64) -> Option<&'r str> {
        let value = self.file.initial(&mut self.pool, word, 8);
        let import = self.pool.as_constant(value).and_then(region::import_of);
        self.file.imports.get(import?).copied()
    }

    /// Whether a small function calls an allocator: what it returns is then another object for each caller.
    pub(super) fn allocates(&mut self, function: u64, depth: u32) -> bool {
        if let Some(&known) = self.allocators.get(&function) {
            return known;
        }
        self.allocators.insert(function, false);
        let (mut pending, mut seen, mut found) = (vec![function], Vec::new(), false);
        while let Some(at) = pending.pop() {
            if seen.contains(&at) {
                continue;
            }
            seen.push(at);
            if seen.len() > MAX_ALLOCATOR_BLOCKS {
                found = false;
                break;
            }
            let block = self.file.block(at);
            let is_inside = |to: u64| self.file.function(to) == function && to != function;
            let (calls, goes_on): (Option<u64>, Vec<u64>) = match block.exit {
                Exit::Next(to) => (None, vec![to.0]),
                Exit::Jump(to) if is_inside(to.0) => (None, vec![to.0]),
                Exit::Jump(to) => (Some(to.0), Vec::new()),
                Exit::Branch { target, next, .. } if is_inside(target.0) => (None, vec![target.0, next.0]),
                Exit::Branch { target, next, .. } => (Some(target.0), vec![next.0]),
                Exit::Call { target, next } => (Some(target.0), vec![next.0]),
                Exit::CallIndirect { target: Operand::Memory(address), next } if address.is_static() => {
                    found |= self.word_allocates(address.displacement);
                    (None, vec![next.0])
                }
                Exit::CallIndirect { next, .. } => (None, vec![next.0]),
                Exit::JumpIndirect(_) | Exit::Return | Exit::Stop => (None, Vec::new()),
            };
            pending.extend(goes_on);
            found |= match calls.map(|to| self.file.target(to)) {
                Some(Target::Code(callee)) => depth < 2 && self.allocates(callee, depth + 1),
                Some(Target::Word(word)) => self.word_allocates(word),
                None => false,
            };
        }
        self.allocators.insert(function, found);
        found
    }

    /// Whether a function calls nothing and has few blocks.
    pub(super) fn is_small(&mut self, function: u64) -> bool {
        if let Some(&known) = self.small.get(&function) {
            return known;
        }
        let (mut seen, mut pending, mut is_small) = (Vec::new(), vec![function], true);
        while let Some(at) = pending.pop() {
            if seen.contains(&at) {
                continue;
            }
            seen.push(at);
            let is_inside = |to: u64| self.file.function(to) == function && to != function;
            match self.file.block(at).exit {
                Exit::Next(to) => pending.push(to.0),
                Exit::Jump(to) if is_inside(to.0) => pending.push(to.0),
                Exit::Branch { target, next, .. } if is_inside(target.0) => {
                    pending.extend([target.0, next.0])
                }
                Exit::Return | Exit::Stop => {}
                _ => is_small = false,
            }
            is_small &= seen.len() <= MAX_SMALL_BLOCKS;
            if !is_small {
                break;
            }
        }
        self.small.insert(function, is_small);
        is_small
    }

    fn word_allocates(&mut self, word: u64) -> bool {
        self.import_of_word(word).is_some_and(knowledge::allocates)
    }
}

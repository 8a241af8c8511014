//! Runs one instruction on what is known: what it computes, loads, stores and tests. `Tainted` is ⊤ that carries taint.
//!
//! In: an instruction and the [`State`] before it. Out: the state after it, and among the
//! [`Facts`](crate::function::reach::machine::interpret::Facts) what it stores where others find it. Calls, jumps and
//! returns are `interpret`'s.

use crate::address::{Extent, Svma};
use crate::function::reach::domain::lanes::{self, Halves};
use crate::function::reach::domain::state::{Either, Flags, Holder, State, Subject, narrowed, stack_pointer};
use crate::function::reach::domain::told::Told;
use crate::function::reach::domain::value::{Outcome, Value};
use crate::function::reach::file::foreign::foreign;
use crate::function::reach::file::pc_relative::literal;
use crate::function::reach::file::view::View;
use crate::function::reach::machine::effects::{Effects, Stored, UseKind};
use crate::function::reach::machine::memory::Memory;
use crate::function::reach::machine::queries;
use crate::image::Kind;
use crate::image::linkage::ReferenceTarget;
use crate::insn::{Class, Condition, Insn, Lanes, Memory as Operand, Operation, Reg};
use deburr_cpu::Arch;

/// Maximum of bytes of an instruction of x86-64.
const LONGEST_INSTRUCTION: u64 = 15;

/// Bytes of the field of an instruction that the linker fills.
const FIELD: u64 = 4;

/// Where an operand is.
#[derive(Clone, Copy)]
enum Place {
    Static(u64),
    Frame(i64),
    /// So many bytes from an address that is not known.
    Field(i64),
    Elsewhere,
}

/// The transfer function of one file: what an instruction makes of a [`State`], and what it records in the sink.
pub(crate) struct Transfer<'r, 'w, 'a> {
    pub(crate) file: &'r View<'w, 'a>,
    pub(crate) memory: &'r Memory,
    pub(crate) effects: Effects,
    /// The instruction that is running.
    pub(crate) at: Svma,
    /// Whether what is loaded, and not known, may be an answer of the CPU.
    pub(crate) loads_answers: bool,
}

impl Transfer<'_, '_, '_> {
    /// The address of a memory operand.
    fn address(&self, memory: &Operand, state: &State) -> Value {
        let displacement = if memory.write_back && self.file.image.arch == Arch::Aarch64 {
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

    /// Where an operand leads, in an object once it is linked. Until then its field holds nothing, so that it leads to the end of the
    /// instruction.
    fn linked(&self, to: u64) -> u64 {
        self.by_relocation(to).unwrap_or(to)
    }

    fn by_relocation(&self, end: u64) -> Option<u64> {
        let linkage = self.file.linkage;
        let length = end.checked_sub(self.at.0)?;
        let image = self.file.image;
        if image.kind != Kind::Relocatable || image.arch != Arch::X86_64 || length > LONGEST_INSTRUCTION {
            return None;
        }
        let fields = linkage.references_in(Extent { start: self.at, end: Svma(end) });
        let after_field = |at: Svma| end.checked_sub(at.0.saturating_add(FIELD));
        // After the field stands a number, or nothing.
        let field = fields.first().filter(|field| matches!(after_field(field.at), Some(0 | 1 | 2 | 4)))?;
        if field.is_slot {
            return Some(field.at.0);
        }
        let after = after_field(field.at).unwrap_or(0) * u64::from(field.is_relative);
        match field.to {
            ReferenceTarget::Here(to) => Some(to.0.wrapping_add(after)),
            ReferenceTarget::Elsewhere(_) => {
                let import = linkage.imports.binary_search_by_key(&field.at, |import| import.at).ok()?;
                Some(foreign(import).wrapping_add_signed(field.offset).wrapping_add(after))
            }
        }
    }

    fn place(&self, memory: &Operand, state: &State) -> Place {
        self.located(memory, state).0
    }

    /// Where a memory operand is, and its address as far as it was made.
    fn located(&self, memory: &Operand, state: &State) -> (Place, Value) {
        if memory.is_static {
            return (Place::Static(self.linked(memory.displacement as u64)), Value::Unknown);
        }
        if memory.base.is_none() && memory.index.is_none() {
            return (Place::Elsewhere, self.address(memory, state));
        }
        let address = self.address(memory, state);
        let place = match &address {
            Value::Stack(at) => Place::Frame(*at),
            value => match value.as_constant() {
                Some(at) => Place::Static(at),
                None if memory.index.is_none() && !memory.write_back => Place::Field(memory.displacement),
                None => Place::Elsewhere,
            },
        };
        (place, address)
    }

    /// Where a memory operand is, for what is known better here than everywhere.
    fn holder(&self, memory: &Operand, state: &State) -> Option<Holder> {
        let width = u8::try_from(memory.size).ok().filter(|width| matches!(width, 1 | 2 | 4 | 8))?;
        match self.place(memory, state) {
            Place::Static(at) => Some(Holder::Word(at, width)),
            Place::Frame(at) => Some(Holder::Frame(at, width)),
            _ => None,
        }
    }

    pub(crate) fn load(&self, memory: &Operand, state: &State) -> Value {
        let width = match memory.size {
            width @ (1 | 2 | 4 | 8) => width as u8,
            _ => return Value::Unknown,
        };
        let (place, address) = self.located(memory, state);
        match place {
            Place::Static(_) if self.file.subject.forgets_words() => Value::Unknown,
            Place::Static(at) => match self.load_word(at, width, state) {
                // From between the code, as only literal loads do: no variable is there.
                Value::Unknown if memory.is_static && self.file.linkage.data_at(Svma(at)).is_none() => {
                    literal(self.file.image, Svma(at), width).map_or(Value::Unknown, Value::constant)
                }
                value => self.as_read(value),
            },
            Place::Frame(at) => self.as_read(state.load(at, width)),
            Place::Field(at) => match self.memory.presumed_field(self.at, at, width) {
                Some(value) => value,
                None if self.memory.fields.contains(&at) => Value::Tainted,
                None => self.as_read(self.load_indexed(memory, &address, width, state)),
            },
            Place::Elsewhere => self.as_read(self.load_indexed(memory, &address, width, state)),
        }
    }

    /// What is loaded from a place that a system call, or code that is not seen, may have filled.
    fn as_read(&self, value: Value) -> Value {
        match value {
            Value::Unknown if self.loads_answers => Value::Tainted,
            value => value,
        }
    }

    fn load_word(&self, at: u64, width: u8, state: &State) -> Value {
        let known = state.word(at, width).cloned();
        known.unwrap_or_else(|| {
            let mut inputs = self.effects.inputs.borrow_mut();
            let load = || self.memory.load(self.file.linkage, at, width);
            inputs.words.entry((at, width)).or_insert_with(load).clone()
        })
    }

    /// Whether some word in a range says what the CPU has.
    pub(crate) fn informs_in(&self, range: Extent) -> bool {
        let mut inputs = self.effects.inputs.borrow_mut();
        *inputs.ranges.entry(range).or_insert_with(|| self.memory.informs_in(range))
    }

    /// From a table: what is at each address that the index can make, with what is known then.
    fn load_indexed(&self, memory: &Operand, address: &Value, width: u8, state: &State) -> Value {
        let all = address.choices().iter().map(|&(at, proof)| self.load_word(at, width, state).under(proof));
        match all.reduce(|a, b| a.join(&b)) {
            Some(value) if value != Value::Unknown => value,
            _ if self.is_in_learnt_object(memory, state) => Value::Tainted,
            _ => Value::Unknown.mixed(address),
        }
    }

    /// Whether an operand with an index that is not known reads an object that holds answers of the CPU.
    fn is_in_learnt_object(&self, memory: &Operand, state: &State) -> bool {
        /// Bytes of an array that nothing names.
        const NEAR: u64 = 64;
        let Some(index) = memory.index else { return false };
        let displacement = memory.displacement as u64;
        let starts = [memory.base, Some(index)].map(|reg| match reg {
            None => Some(displacement),
            Some(reg) => state.read(reg).as_constant().map(|at| at.wrapping_add(displacement)),
        });
        let object = |at: Svma| {
            let named = self.file.linkage.object_at(at).map(|object| object.extent);
            named.unwrap_or(Extent::sized(at, NEAR))
        };
        starts.into_iter().flatten().any(|at| self.informs_in(object(Svma(at))))
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
            self.effects.let_out(self.file, &value, insn, kind, state);
        }
        if self.memory.records_told {
            match (place, &value) {
                (Place::Frame(_), _) => {}
                // Whoever has the address may read what is there.
                (_, Value::Stack(at)) => self.tell_frame(*at, state),
                (Place::Static(_), _) => {}
                (Place::Field(_) | Place::Elsewhere, _) => self.tell(Told::of(&value.under(state.proof()))),
            }
        }
        match place {
            Place::Frame(at) => state.store(at, width, value),
            Place::Static(at) => {
                state.store_word(at, width, value.clone());
                // What a user puts in the place of the CPU's answer is the user's own account.
                let is_stated = insn.src.into_iter().flatten().any(|reg| state.is_stated(reg));
                if !is_stated || value.is_informative() {
                    let value = value.under(state.proof());
                    self.effects.facts.stores.push(Stored { at, width, value, absent: state.absent });
                }
            }
            Place::Field(at) => self.store_field(memory, at, &value, insn, state),
            Place::Elsewhere => {}
        }
    }

    /// Records what other code gets to know.
    pub(crate) fn tell(&mut self, told: Told) {
        self.effects.facts.told = self.effects.facts.told.union(told);
    }

    /// The same of all that the frame holds from an address on.
    pub(crate) fn tell_frame(&mut self, from: i64, state: &State) {
        let told = state.frame_between(from, i64::MAX).map(|(_, value)| Told::of(value));
        self.tell(told.fold(Told::default(), Told::union));
    }

    /// A store into a structure whose place is not known. A flag that is set there after a check, or that depends on one in a manner
    /// that was lost, may be tested later.
    fn store_field(&mut self, memory: &Operand, at: i64, value: &Value, insn: &Insn, state: &State) {
        let is_flag = insn.imm.is_some() || !value.choices().is_empty();
        let is_informative =
            is_flag && !state.proven.is_empty() || value.discriminates(false) || value.is_tainted_flag();
        match memory.size {
            0..=4 if is_informative => drop(self.effects.facts.fields.insert(at)),
            // A flag may be packed above other data. The first byte of a word of features tells already: that is not a flag.
            8 if value.discriminates(false) => {
                let tells = |byte: &i64| value.shift(-8 * *byte as i32).truncate(1).discriminates(false);
                if let Some(byte) = (0..8).find(tells).filter(|byte| *byte > 0) {
                    self.effects.facts.fields.insert(at.wrapping_add(byte));
                }
            }
            _ => {}
        }
    }

    /// Whether an instruction loads or stores two general registers next to each other: A64's `ldp` and `stp`.
    fn is_pair(&self, insn: &Insn, memory: &Operand) -> bool {
        self.file.image.arch == Arch::Aarch64
            && insn.operation == Operation::Other
            && matches!(insn.class, Class::Load | Class::Store)
            && insn.width > 0
            && memory.size == u16::from(insn.width) * 2
            && !memory.write_back
    }

    /// The load or store of a pair.
    fn pair(&mut self, insn: &Insn, memory: &Operand, state: &mut State) {
        let half = |offset: u8| Operand {
            size: u16::from(insn.width),
            displacement: memory.displacement.wrapping_add(i64::from(offset)),
            ..*memory
        };
        let halves = [half(0), half(insn.width)];
        if insn.class == Class::Store {
            for (half, source) in halves.iter().zip(insn.src) {
                let value = source.map_or(Value::constant(0), |reg| state.read(reg));
                self.store(half, value, insn, state);
            }
            return;
        }
        let second = insn.writes.general().find(|reg| insn.dst != Some(*reg));
        let values = halves.map(|half| self.load(&half, state));
        for (reg, value) in [insn.dst, second].into_iter().zip(values) {
            if let Some(reg) = reg {
                state.write(reg, value);
            }
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
        let first = match insn.src[0].filter(|_| !insn.high_byte) {
            Some(reg) => self.file.subject.read(insn, state.read(reg)).truncate(width),
            None => register(insn.src[0], insn.high_byte),
        };
        let immediate = insn
            .imm
            .map(|imm| Value::constant(imm as u64 & crate::function::reach::domain::value::mask_of(width)));
        let loaded = insn.memory.filter(|memory| memory.read).map(|memory| self.load(&memory, state));
        match (loaded, immediate) {
            // The memory operand comes first, except in `op register, memory`.
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
    pub(crate) fn step(&mut self, insn: &Insn, state: &mut State) {
        let operand = insn.memory.filter(|memory| memory.write_back && self.file.image.arch == Arch::Aarch64);
        let base = operand.and_then(|memory| Some((memory.base?, memory.displacement)));
        if let Some((base, displacement)) = base {
            let updated = state.read(base).add(&Value::constant(displacement as u64));
            state.write(base, updated);
        }
        self.perform(insn, state);
        // Post-index: by how much the base then changes is no part of the operand. A frame that is given up stays known.
        if let Some((base, 0)) = base
            && base != Reg::SP
        {
            let from = state.read(base);
            if let (Value::Stack(at), Some(true)) = (&from, operand.map(|memory| memory.write)) {
                state.forget_frame(*at);
            }
            state.write(base, Value::Unknown.mixed(&from));
        }
    }

    /// Runs an instruction whose operand's base is up to date.
    fn perform(&mut self, insn: &Insn, state: &mut State) {
        let width = if insn.width == 0 { 8 } else { insn.width };
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
        if let Some(memory) = insn.memory.filter(|memory| self.is_pair(insn, memory)) {
            return self.pair(insn, &memory, state);
        }
        let moves = match insn.operation {
            Operation::Move | Operation::Extend | Operation::Address | Operation::EffectiveAddress => true,
            Operation::Other => matches!(insn.class, Class::Load | Class::LoadExclusive | Class::Store),
            _ => false,
        };
        let (left, right) = if moves { Default::default() } else { self.operands(insn, state) };
        let value = match insn.operation {
            Operation::CpuId => return queries::cpuid(state),
            Operation::ReadExtendedControl => {
                // What the operating system saves: a word that proves no feature of the CPU.
                state.write(Reg::general(0), Value::word([], 4));
                return state.write(Reg::general(2), Value::constant(0));
            }
            Operation::ReadSystemRegister => queries::id_register(self.file.subject, insn),
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
            Operation::Address => {
                insn.imm.map_or(Value::Unknown, |imm| Value::constant(self.linked(imm as u64)))
            }
            Operation::EffectiveAddress => self.effective_address(insn, state),
            Operation::ShiftLeft => shifted(&left, &right, 1),
            Operation::ShiftRight => shifted(&left, &right, -1),
            Operation::ShiftRightSigned => match right.as_constant() {
                Some(count) => left.shift_signed(count, width),
                None => left.mixed(&right),
            },
            Operation::AddCarry => left.add(&right).add(&carry(state)),
            Operation::SubBorrow => left.add(&right.negate()).add(&carry(state).negate()),
            Operation::ExtractBits => {
                let imm = insn.imm.unwrap_or(0);
                let (low, count) = ((imm & 0xff) as i32, imm >> 8 & 0xff);
                let mask = 1u64.checked_shl(count as u32).unwrap_or(0).wrapping_sub(1);
                self.source(insn, state).shift(-low).and_mask(mask)
            }
            Operation::MoveKeep => {
                let imm = insn.imm.unwrap_or(0) as u64;
                let at = (imm >> 16) as u32;
                let kept = self.source(insn, state).and_mask(!(0xffff_u64.checked_shl(at).unwrap_or(0)));
                kept.or(&Value::constant((imm & 0xffff).checked_shl(at).unwrap_or(0)))
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

    /// Records which register now holds what is elsewhere, and what the flags were made of. `holder`: the memory
    /// operand.
    fn relate(
        &self,
        insn: &Insn,
        state: &mut State,
        holder: Option<Holder>,
        (value, right): (&Value, &Value),
    ) {
        if let (Operation::Move, Class::Other, None, Some(dst), Some(src)) =
            (insn.operation, insn.class, insn.imm, insn.dst, insn.src[0])
        {
            state.moved(dst, src);
        }
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
            self.effects.let_out(self.file, &state.read(reg), insn, UseKind::LetOut, state);
        }
        if let Some(loaded) = &loaded {
            self.effects.let_out(self.file, loaded, insn, UseKind::LetOut, state);
        }
        let holds_answer =
            general().map(|&reg| state.read(reg)).chain(loaded).any(|value| value.is_informative())
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
        for reg in insn.writes.general() {
            let is_base = insn.memory.is_some_and(|memory| memory.write_back && memory.base == Some(reg));
            if insn.dst != Some(reg) && !is_base {
                state.write(reg, Value::Unknown);
            }
        }
        if let Some(dst) = insn.dst {
            let is_x86 = self.file.image.arch == Arch::X86_64;
            let value = match insn.width {
                1 if insn.high_byte && is_x86 && insn.operation != Operation::Extend => {
                    state.read(dst).and_mask(!0xff00).or(&value.truncate(1).shift(8))
                }
                1 | 2 if is_x86 && insn.operation != Operation::Extend => state
                    .read(dst)
                    .and_mask(!crate::function::reach::domain::value::mask_of(insn.width))
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
                    Some(condition) => Flags::Either(Box::new(Either {
                        before: state.test(condition),
                        then,
                        otherwise: insn.nzcv,
                    })),
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
            Some(reg) => self.file.subject.read(insn, state.read(reg)),
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

    /// The states on the edges out of a branch, if it is taken and if it is not; `None` where it never has that outcome.
    pub(crate) fn edges(&self, branch: &Insn, state: State) -> (Option<State>, Option<State>) {
        let (taken, passed) = self.branch(branch, &state);
        let after = |state: State, outcome: &Outcome, is_taken| {
            state.after(outcome, branch.svma, is_taken).map(|state| narrowed(branch, state, is_taken))
        };
        (after(state.clone(), &taken, true), after(state, &passed, false))
    }

    /// What is known on either edge out of a branch.
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
        let pointer = stack_pointer(self.file.image.arch);
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
                match self.file.image.arch {
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
        let pointer = stack_pointer(self.file.image.arch);
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

/// The carry flag as a number.
fn carry(state: &State) -> Value {
    let (holds, fails) = state.test(Condition::UnsignedLess);
    Value::truth(&holds, &fails)
}

fn complement(value: &Value, width: u8) -> Value {
    value.xor_mask(crate::function::reach::domain::value::mask_of(width)).truncate(width)
}

fn shifted(value: &Value, by: &Value, sign: i32) -> Value {
    match by.as_constant() {
        Some(count) => value.shift(sign * (count & 63) as i32),
        None => value.mixed(by),
    }
}

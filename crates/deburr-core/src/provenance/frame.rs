//! What a function does with its frame: whether it loads again what a register still holds.
//!
//! In: the first instructions of a function. Out: [`FrameUse`]. An optimiser keeps a variable in a register. Where registers run
//! out, it moves one to the frame and loads it when it is needed again; then no register holds it. Without an optimiser, each
//! statement stores its result to the frame, and the next one loads it from there, although a register still holds it. Nor does
//! anything remove jumps to the next instruction. Only straight lines are followed: what is known of the frame ends at a call, and where
//! control arrives from elsewhere. Vector registers are left out: `-ffloat-store` stores and loads floating-point numbers so in
//! optimised code.

use crate::address::{Extent, Svma};
use crate::insn::{Flow, Insn, Memory, Operation, Reg, RegSet};
use deburr_cpu::Arch;

/// Maximum number of slots of a frame that are remembered at a time. -O0 code loads a value again within a few statements.
const MAX_SLOTS: usize = 24;

/// What a function, or the part of it that was examined, does with its frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrameUse {
    /// Instructions that were examined.
    pub instructions: u32,
    /// Arguments that were stored to the frame before their registers changed.
    pub arguments: u32,
    /// Loads from the frame of what a general register still held.
    pub held: u32,
    /// Jumps to the next instruction, or that a branch before them skips.
    pub idle_jumps: u32,
    /// General registers of the caller that were stored before anything else wrote to them, without the frame pointer and the link register.
    pub saved: u32,
}

impl FrameUse {
    /// What the first instructions of a function, which is at `extent`, do with its frame. `is_go`: it follows Go's conventions.
    pub(super) fn of(arch: Arch, is_go: bool, extent: Extent, insns: &[Insn]) -> FrameUse {
        let mut targets: Vec<Svma> = insns.iter().filter_map(|insn| insn.flow.inner_target()).collect();
        targets.sort_unstable();
        let mut frame = Frame::new(arch, is_go);
        let mut before: Option<&Insn> = None;
        for insn in insns {
            if targets.binary_search(&insn.svma).is_ok() {
                frame.forget();
            }
            frame.step(insn);
            frame.found.idle_jumps += u32::from(is_idle(extent, before, insn));
            before = Some(insn);
        }
        frame.found
    }
}

/// Whether an instruction is a jump that an optimiser would remove.
fn is_idle(extent: Extent, before: Option<&Insn>, insn: &Insn) -> bool {
    let Flow::Jump(target) = insn.flow else { return false };
    let is_skipped = before.is_some_and(|before| before.flow == Flow::Branch(insn.next()));
    extent.contains(target) && extent.contains(insn.next()) && (target == insn.next() || is_skipped)
}

/// A place in the frame whose value is known.
#[derive(Debug, Clone, Copy)]
struct Slot {
    base: Reg,
    displacement: i64,
    size: u16,
    /// General registers that hold the value.
    holders: RegSet,
}

impl Slot {
    fn overlaps(&self, memory: &Memory) -> bool {
        let (start, size) = (memory.displacement, i64::from(memory.size.max(1)));
        Some(self.base) == memory.base
            && self.displacement < start.saturating_add(size)
            && start < self.displacement.saturating_add(self.size.into())
    }

    /// Whether a load reads the value, or its low bytes.
    fn has(&self, memory: &Memory) -> bool {
        Some(self.base) == memory.base && self.displacement == memory.displacement && memory.size <= self.size
    }
}

/// Follows the instructions of one function.
struct Frame {
    stack_pointer: Reg,
    frame_pointer: Reg,
    /// Whether the frame pointer points into the frame.
    is_set_up: bool,
    slots: [Option<Slot>; MAX_SLOTS],
    next_slot: usize,
    /// Argument registers that still hold their argument.
    arguments: RegSet,
    /// What a call may return in. Another register of an argument that is stored after a call before anything wrote to it has been kept by
    /// the callee, or nobody could know what it holds: `mcount` keeps all (gcc's `-pg`).
    results: RegSet,
    /// Registers of the caller that still hold what the caller left in them.
    callers: RegSet,
    found: FrameUse,
}

impl Frame {
    fn new(arch: Arch, is_go: bool) -> Frame {
        let (stack_pointer, frame_pointer) = match arch {
            Arch::X86_64 => (Reg::general(4), Reg::general(5)),
            Arch::Aarch64 => (Reg::SP, Reg::FRAME),
        };
        Frame {
            stack_pointer,
            frame_pointer,
            is_set_up: false,
            slots: [None; MAX_SLOTS],
            next_slot: 0,
            arguments: arguments(arch),
            results: results(arch, is_go),
            callers: callers(arch),
            found: FrameUse::default(),
        }
    }

    fn forget(&mut self) {
        self.slots = [None; MAX_SLOTS];
    }

    fn forget_base(&mut self, base: Reg) {
        self.retain(|slot| slot.base != base);
    }

    fn retain(&mut self, is_kept: impl Fn(&Slot) -> bool) {
        for slot in &mut self.slots {
            *slot = slot.filter(&is_kept);
        }
    }

    /// Follows one instruction.
    fn step(&mut self, insn: &Insn) {
        self.found.instructions += 1;
        let memory = insn.memory.filter(|memory| self.is_in_frame(memory));
        let loaded = memory.filter(|memory| memory.read);
        let is_general = insn.dst.is_none_or(|dst| !dst.is_vector());
        if let Some(memory) = loaded.filter(|_| is_general) {
            let slot = self.slots.iter().flatten().find(|slot| slot.has(&memory));
            let is_held = slot.is_some_and(|slot| slot.holders.general().next().is_some());
            self.found.held += u32::from(is_held);
        }
        for slot in self.slots.iter_mut().flatten() {
            slot.holders = slot.holders.minus(insn.writes);
        }
        match memory {
            Some(memory) if memory.write => self.store(insn, &memory),
            Some(memory)
                if memory.read
                    && matches!(insn.operation, Operation::Move | Operation::Extend | Operation::Other) =>
            {
                let holder = insn.dst.filter(|_| is_general);
                self.add_holder(&memory, holder);
            }
            _ => {}
        }
        let is_on_stack = |memory: Memory| memory.write && memory.base == Some(self.stack_pointer);
        if insn.operation == Operation::Push || insn.memory.is_some_and(is_on_stack) {
            self.found.saved +=
                insn.src.into_iter().flatten().filter(|source| self.callers.contains(*source)).count() as u32;
        }
        self.callers = self.callers.minus(insn.writes);
        self.arguments = self.arguments.minus(insn.writes);
        let is_call = matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall);
        if is_call {
            self.arguments = self.arguments.minus(self.results);
        } else if insn.writes.contains(self.stack_pointer) {
            self.forget_base(self.stack_pointer);
        }
        if insn.writes.contains(self.frame_pointer) {
            self.is_set_up = insn.reads.contains(self.stack_pointer)
                && matches!(insn.operation, Operation::Move | Operation::Add | Operation::EffectiveAddress);
            self.forget_base(self.frame_pointer);
        }
        if is_call || !insn.flow.falls_through() {
            self.forget();
        }
    }

    fn is_in_frame(&self, memory: &Memory) -> bool {
        let is_base = |reg| reg == self.stack_pointer || self.is_set_up && reg == self.frame_pointer;
        memory.index.is_none() && !memory.write_back && memory.base.is_some_and(is_base)
    }

    fn store(&mut self, insn: &Insn, memory: &Memory) {
        self.retain(|slot| !slot.overlaps(memory));
        if memory.read {
            return;
        }
        let sources = insn.src.into_iter().flatten();
        let arguments = sources.clone().filter(|source| self.arguments.contains(*source)).count();
        self.found.arguments += arguments as u32;
        // A64 stores pairs.
        let count = sources.clone().count().max(1) as u16;
        let size = memory.size / count;
        let mut displacement = memory.displacement;
        for source in sources {
            let half = Memory { displacement, size, ..*memory };
            if !source.is_vector() {
                self.add_holder(&half, Some(source));
            }
            displacement = displacement.saturating_add(size.into());
        }
    }

    /// Notes that a register holds the value at a place.
    fn add_holder(&mut self, memory: &Memory, holder: Option<Reg>) {
        let (Some(base), Some(holder)) = (memory.base, holder) else { return };
        let (displacement, size) = (memory.displacement, memory.size);
        let is_it = |slot: &&mut Slot| slot.has(memory) && slot.size == size;
        if let Some(slot) = self.slots.iter_mut().flatten().find(is_it) {
            slot.holders = slot.holders.with(holder);
        } else if let Some(place) = self.slots.get_mut(self.next_slot) {
            *place = Some(Slot { base, displacement, size, holders: RegSet::EMPTY.with(holder) });
            self.next_slot = (self.next_slot + 1) % MAX_SLOTS;
        }
    }
}

/// The registers of arguments: System V's for x86-64 (psABI 3.2.3) and those of Go's ABI; AAPCS64, 6.8.2.
fn arguments(arch: Arch) -> RegSet {
    let general: &[u8] = match arch {
        Arch::X86_64 => &[7, 6, 2, 1, 8, 9, 0, 3, 10, 11],
        Arch::Aarch64 => &[0, 1, 2, 3, 4, 5, 6, 7, 8],
    };
    let set = general.iter().fold(RegSet::EMPTY, |set, &n| set.with(Reg::general(n)));
    (0..8).fold(set, |set, n| set.with(Reg::vector(n)))
}

/// The registers of arguments that results are in: psABI for x86-64, 3.2.3; Swift's up to four. Go's, and those of A64, where they are the same
/// registers, are all of them.
fn results(arch: Arch, is_go: bool) -> RegSet {
    let kept: &[u8] = match arch {
        Arch::X86_64 if !is_go => &[7, 6, 9],
        _ => &[],
    };
    arguments(arch).minus(kept.iter().fold(RegSet::EMPTY, |set, &n| set.with(Reg::general(n))))
}

/// The registers that a function gives back as it found them, without the frame pointer: psABI for x86-64, 3.2.1; AAPCS64, 6.1.1.
fn callers(arch: Arch) -> RegSet {
    let (others, range) = match arch {
        Arch::X86_64 => (RegSet::EMPTY.with(Reg::general(3)), 12..16),
        Arch::Aarch64 => (RegSet::EMPTY, 19..29),
    };
    range.fold(others, |set, n| set.with(Reg::general(n)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::decode_hex;

    fn of(arch: Arch, hex: &str) -> FrameUse {
        let insns = decode_hex(arch, hex, Svma(0x1000));
        let end = insns.last().map_or(Svma(0x1000), Insn::next);
        FrameUse::of(arch, false, Extent { start: Svma(0x1000), end }, &insns)
    }

    fn x86(hex: &str) -> FrameUse {
        of(Arch::X86_64, hex)
    }

    #[test]
    fn what_a_register_holds_is_loaded_again_without_an_optimiser() {
        // push rbp; mov rbp, rsp; mov [rbp - 4], edi; mov eax, [rbp - 4]; add eax, eax; pop rbp; ret
        let found = x86("55 48 89 e5 89 7d fc 8b 45 fc 01 c0 5d c3");
        assert_eq!((found.instructions, found.arguments, found.held), (7, 1, 1));
        // str x0, [sp, #8]; ldr x1, [sp, #8]; ldr x2, [sp, #8]
        let found = of(Arch::Aarch64, "e0 07 00 f9 e1 07 40 f9 e2 07 40 f9");
        assert_eq!((found.arguments, found.held), (1, 2));
        // stp x0, x1, [sp, #16]; ldr x8, [sp, #24]
        let found = of(Arch::Aarch64, "e0 07 01 a9 e8 0f 40 f9");
        assert_eq!((found.arguments, found.held), (2, 1));
    }

    #[test]
    fn an_argument_that_is_stored_after_a_call_was_kept_by_the_callee() {
        // push rbp; mov rbp, rsp; call next; mov [rbp - 4], edi; mov [rbp - 8], edx; mov eax, [rbp - 4], where rdx may be a result
        let profiled = "55 48 89 e5 e8 00 00 00 00 89 7d fc 89 55 f8 8b 45 fc";
        assert_eq!((x86(profiled).arguments, x86(profiled).held), (1, 1));
        let insns = decode_hex(Arch::X86_64, profiled, Svma(0x1000));
        let extent = Extent { start: Svma(0x1000), end: Svma(0x1012) };
        assert_eq!(FrameUse::of(Arch::X86_64, true, extent, &insns).arguments, 0);
        // bl next; str x0, [sp, #8]
        assert_eq!(of(Arch::Aarch64, "01 00 00 94 e0 07 00 f9").arguments, 0);
    }

    #[test]
    fn registers_of_the_caller_count_as_long_as_they_are_its() {
        // push rbp; mov rbp, rsp; push r15; push r14; push rbx; xor r12d, r12d; push r12
        assert_eq!(x86("55 48 89 e5 41 57 41 56 53 45 31 e4 41 54").saved, 3);
        // stp x29, x30, [sp, #-48]!; stp x19, x20, [sp, #16]; str x21, [sp, #32]
        assert_eq!(of(Arch::Aarch64, "fd 7b bd a9 f3 53 01 a9 f5 13 00 f9").saved, 3);
    }

    #[test]
    fn what_no_register_holds_must_be_loaded() {
        // mov [rsp + 8], rdi; call next; mov rax, [rsp + 8]
        assert_eq!(x86("48 89 7c 24 08 e8 00 00 00 00 48 8b 44 24 08").held, 0);
        // mov [rsp + 8], rdi; xor edi, edi; mov rdi, [rsp + 8]
        assert_eq!(x86("48 89 7c 24 08 31 ff 48 8b 7c 24 08").held, 0);
        // mov [rsp + 8], rdi; mov [rsp + 12], esi; mov rax, [rsp + 8]
        assert_eq!(x86("48 89 7c 24 08 89 74 24 0c 48 8b 44 24 08").held, 0);
    }

    #[test]
    fn what_is_stored_before_a_loop_is_loaded_in_it() {
        // mov [rsp + 8], rdi; loop: mov rax, [rsp + 8]; dec ecx; jne loop
        assert_eq!(x86("48 89 7c 24 08 48 8b 44 24 08 ff c9 75 f7").held, 0);
    }

    #[test]
    fn floating_point_numbers_and_other_bases_do_not_count() {
        // movss [rsp + 8], xmm0; movss xmm1, [rsp + 8]
        let found = x86("f3 0f 11 44 24 08 f3 0f 10 4c 24 08");
        assert_eq!((found.arguments, found.held), (1, 0));
        // mov [rbp + 8], edi; mov eax, [rbp + 8], where rbp is any pointer
        assert_eq!(x86("89 7d 08 8b 45 08").held, 0);
        // push rsi between: [rsp + 8] is another place.
        assert_eq!(x86("48 89 7c 24 08 56 48 8b 44 24 08").held, 0);
    }

    #[test]
    fn a_jump_is_idle_that_leads_to_the_next_instruction_or_is_branched_over() {
        // jmp next; ret
        assert_eq!(x86("eb 00 c3").idle_jumps, 1);
        // A tail call of the function that follows.
        assert_eq!(x86("c3 eb 00").idle_jumps, 0);
        // jne over; jmp back to the start; over: ret
        assert_eq!(x86("75 02 eb fc c3").idle_jumps, 1);
        // jne somewhere; jmp back to the start; ret
        assert_eq!(x86("75 03 eb fc 90 c3").idle_jumps, 0);
    }
}

//! Whether a compare-and-swap that failed may be tried again in a loop that does nothing else: a quick test before a
//! graph is built.
//!
//! In: a compare-and-swap. Out: no, or maybe. Code is followed from it until it comes back, as [`super::path`] follows
//! the loop, but of what registers hold only the little is kept that decides branches. Most loops test the old value
//! before they try again, store or call, and are settled after a few instructions.

use super::path::Site;
use crate::address::Svma;
use crate::insn::{Class, Condition, Flow, Insn, Operation, Reg};

/// Maximum number of instructions that are examined.
const STEPS: usize = 256;

/// What a register may hold, as bits.
type Held = u8;
/// Nothing that decides a branch.
const NOTHING: Held = 0;
/// What the compare-and-swap read from memory.
const OLD: Held = 1;
/// Whether it succeeded, as a number.
const STATUS: Held = 2;
/// A constant.
const CONSTANT: Held = 4;

/// What the flags show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flags {
    Nothing,
    /// Whether the old value was the expected one.
    Equality,
    /// Whether the compare-and-swap succeeded, with either sense.
    Status,
}

/// A path from the compare-and-swap.
#[derive(Clone)]
struct Path {
    at: Svma,
    registers: [Held; 32],
    flags: Flags,
    /// Whether it went where the compare-and-swap has failed.
    failed: bool,
}

/// Whether control may come back to the compare-and-swap at an address when it has failed. Never no where
/// [`super::path`] finds such a loop. `decode`: the instruction at an address.
pub(super) fn tries_again(decode: impl Fn(Svma) -> Option<Insn>, swap: Svma, site: Site) -> bool {
    let Some(start) = decode(swap).and_then(|insn| Path::after(&insn, site)) else { return false };
    let mut pending = vec![start];
    let mut steps = 0;
    while let Some(mut path) = pending.pop() {
        while path.at != swap {
            steps += 1;
            if steps > STEPS {
                return true;
            }
            let Some(insn) = decode(path.at) else { break };
            let next = match insn.flow {
                Flow::Jump(to) => Some(to),
                Flow::Branch(to) => path.decide(&insn, site).map(|(taken, passed)| {
                    pending.push(Path { at: to, failed: path.failed || taken, ..path.clone() });
                    path.failed |= passed;
                    insn.next()
                }),
                _ => path.pass(&insn, site).then(|| insn.next()),
            };
            match next {
                Some(next) => path.at = next,
                None => break,
            }
        }
        if path.at == swap && path.failed {
            return true;
        }
    }
    false
}

impl Path {
    /// Begins after a compare-and-swap, or its load-exclusive. Registers may hold constants from before.
    fn after(swap: &Insn, site: Site) -> Option<Path> {
        /// The first register that AArch64's callees preserve.
        const FIRST_PRESERVED: u8 = 19;
        let flags = match site {
            Site::Instruction if swap.writes.contains(Reg::FLAGS) => Flags::Equality,
            _ => Flags::Nothing,
        };
        let mut path = Path { at: swap.next(), registers: [CONSTANT; 32], flags, failed: false };
        swap.writes.general().for_each(|reg| path.set(reg, NOTHING));
        let returned = if site == Site::Helper {
            (0..FIRST_PRESERVED).for_each(|number| path.set(Reg::general(number), NOTHING));
            Reg::general(0)
        } else {
            swap.dst?
        };
        path.set(returned, OLD);
        Some(path)
    }

    /// What an operand may hold; no register is the zero register.
    fn held(&self, reg: Option<Reg>) -> Held {
        let index = |reg: Reg| reg.index().and_then(|index| self.registers.get(index)).copied();
        reg.map_or(CONSTANT, |reg| index(reg).unwrap_or(NOTHING))
    }

    fn set(&mut self, reg: Reg, held: Held) {
        if let Some(slot) = reg.index().and_then(|index| self.registers.get_mut(index)) {
            *slot = held;
        }
    }

    /// Passes an instruction that is no branch; false where no loop in question has it.
    fn pass(&mut self, insn: &Insn, site: Site) -> bool {
        match insn.class {
            Class::StoreExclusive => {
                insn.dst.into_iter().for_each(|dst| self.set(dst, STATUS));
                return site == Site::Exclusives;
            }
            Class::ClearExclusive | Class::Barrier | Class::Hint => return true,
            Class::Load | Class::Other => {}
            _ => return false,
        }
        let is_stack = matches!(insn.operation, Operation::Push | Operation::Pop | Operation::Leave);
        if insn.flow != Flow::Next || is_stack || insn.memory.is_some_and(|memory| memory.write) {
            return false;
        }
        let is_load = insn.memory.is_some_and(|memory| memory.read);
        let made = if is_load { NOTHING } else { self.made(insn) };
        if insn.writes.contains(Reg::FLAGS) {
            self.flags = self.flags_after(insn);
        }
        insn.writes.general().for_each(|reg| self.set(reg, NOTHING));
        insn.dst.into_iter().for_each(|dst| self.set(dst, made));
        true
    }

    /// What an instruction that does not load makes.
    fn made(&self, insn: &Insn) -> Held {
        let [left, right] = [insn.src[0], insn.src[1]].map(|reg| self.held(reg));
        match insn.operation {
            Operation::Move | Operation::Address if insn.imm.is_some() => CONSTANT,
            Operation::Move | Operation::Extend => left,
            // All ones in as many bytes as matter.
            Operation::And if insn.imm.is_some() => left,
            Operation::Add | Operation::Xor | Operation::Sub if insn.imm.is_some() => left & CONSTANT,
            Operation::Add => left & right & CONSTANT,
            // Zero, of equal values.
            Operation::Xor | Operation::Sub => CONSTANT,
            Operation::SetCondition if self.flags != Flags::Nothing => STATUS,
            _ => NOTHING,
        }
    }

    /// What the flags that an instruction sets show. An expected value that is constant is no old value.
    fn flags_after(&self, insn: &Insn) -> Flags {
        let [left, right] = [insn.src[0], insn.src[1]];
        let is_status = self.held(left) & STATUS != 0;
        let are_values = left.is_some() && right.is_some() && insn.imm.is_none();
        match insn.operation {
            _ if insn.memory.is_some() => Flags::Nothing,
            Operation::Compare if are_values && (self.held(left) | self.held(right)) & OLD != 0 => {
                Flags::Equality
            }
            Operation::Compare if insn.imm == Some(0) && is_status => Flags::Status,
            Operation::Test if left == right && is_status => Flags::Status,
            _ => Flags::Nothing,
        }
    }

    /// Whether the compare-and-swap has failed where a branch is taken, and where it is not; `None` where something
    /// else decides it. That a store-exclusive failed only repeats its own try.
    fn decide(&self, branch: &Insn, site: Site) -> Option<(bool, bool)> {
        let on_equal = match branch.condition? {
            Condition::Equal => true,
            Condition::NotEqual => false,
            _ => return None,
        };
        let either = (site != Site::Exclusives, site != Site::Exclusives);
        match branch.operation {
            Operation::BranchCondition => match self.flags {
                Flags::Nothing => None,
                Flags::Equality => Some((!on_equal, on_equal)),
                Flags::Status => Some(either),
            },
            Operation::BranchBit if branch.imm != Some(0) => None,
            Operation::BranchZero | Operation::BranchBit => match self.held(branch.src[0]) {
                held if held & STATUS != 0 => Some(either),
                held if held & CONSTANT != 0 => Some((false, false)),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn;
    use deburr_cpu::Arch;

    /// Whether x86-64 code at 0x1000 tries its `lock cmpxchg` again.
    fn tries(code: &[u8]) -> bool {
        let decode = |at: Svma| insn::decode(Arch::X86_64, code.get((at.0 - 0x1000) as usize..)?, at);
        let swap = code.windows(3).position(|bytes| bytes == [0xf0, 0x0f, 0xb1]).expect("lock cmpxchg");
        tries_again(decode, Svma(0x1000 + swap as u64), Site::Instruction)
    }

    #[test]
    fn a_loop_that_only_computes_tries_again() {
        // mov ecx, eax; or ecx, 1; lock cmpxchg [rdi], ecx; jne
        assert!(tries(&[0x89, 0xc1, 0x83, 0xc9, 1, 0xf0, 0x0f, 0xb1, 0x0f, 0x75, 0xf5, 0xc3]));
        // The same with sete dl; test dl, dl; je
        let by_number = [
            0x89, 0xc1, 0x83, 0xc9, 1, 0xf0, 0x0f, 0xb1, 0x0f, 0x0f, 0x94, 0xc2, 0x84, 0xd2, 0x74, 0xf0, 0xc3,
        ];
        assert!(tries(&by_number));
    }

    #[test]
    fn a_loop_that_tests_the_old_value_or_calls_does_not() {
        // cmp eax, 1; je; lea ecx, [rax - 1]; lock cmpxchg [rdi], ecx; jne
        let unless_one = [0x83, 0xf8, 1, 0x74, 9, 0x8d, 0x48, 0xff, 0xf0, 0x0f, 0xb1, 0x0f, 0x75, 0xf2, 0xc3];
        assert!(!tries(&unless_one));
        // mov ecx, eax; call; lock cmpxchg [rdi], ecx; jne
        assert!(!tries(&[0x89, 0xc1, 0xe8, 0, 0, 0, 0, 0xf0, 0x0f, 0xb1, 0x0f, 0x75, 0xf3, 0xc3]));
        // No branch back: lock cmpxchg [rdi], ecx; jne over a nop; ret
        assert!(!tries(&[0xf0, 0x0f, 0xb1, 0x0f, 0x75, 1, 0x90, 0xc3]));
    }
}

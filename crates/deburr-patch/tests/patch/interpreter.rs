//! A second reading of the Arm ARM: the same instructions as the prover's, on numbers, one state at a time.
//!
//! It shares nothing with the prover: `main.rs` checks the one against the other. Store-exclusives succeed.

use deburr_patch::State;

/// What a sequence does from one state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    /// In instructions from the first.
    pub(crate) exit: i64,
    pub(crate) registers: [u64; 32],
    pub(crate) nzcv: u32,
    pub(crate) barriers: Vec<u32>,
    pub(crate) access: Option<Access>,
    /// The addresses of the plain loads.
    pub(crate) loads: Vec<u64>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    /// Barriers before it.
    pub(crate) place: usize,
    pub(crate) address: u64,
    pub(crate) bits: u32,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    pub(crate) stored: Option<u128>,
}

/// The instruction is not one of those, or the sequence does not end.
#[derive(Debug)]
pub(crate) struct Stuck;

struct Cpu {
    x: [u64; 32],
    n: bool,
    z: bool,
    c: bool,
    v: bool,
    memory: u128,
    barriers: Vec<u32>,
    access: Option<Access>,
    loads: Vec<u64>,
    /// What the loads still to come read, the last first.
    read: Vec<u64>,
}

fn ones(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// `value`'s low `from` bits as a signed number.
fn sign(value: u64, from: u32) -> i64 {
    ((value << (64 - from)) as i64) >> (64 - from)
}

pub(crate) fn execute(words: &[u32], state: &State) -> Result<Outcome, Stuck> {
    let mut x = [0; 32];
    x[..31].copy_from_slice(&state.registers);
    x[31] = state.sp;
    let flag = |bit: u32| state.nzcv >> bit & 1 != 0;
    let mut cpu = Cpu {
        x,
        n: flag(3),
        z: flag(2),
        c: flag(1),
        v: flag(0),
        memory: state.memory,
        barriers: Vec::new(),
        access: None,
        loads: Vec::new(),
        read: state.loads.iter().rev().copied().collect(),
    };
    let mut pc = 0_i64;
    for _ in 0..500 {
        // Back at the first instruction after the access is out: what follows is another run, from another
        // state.
        let inside = usize::try_from(pc).ok().filter(|pc| *pc > 0 || cpu.access.is_none());
        let Some(word) = inside.and_then(|pc| words.get(pc)) else {
            let nzcv = [cpu.n, cpu.z, cpu.c, cpu.v].iter().fold(0, |all, flag| all * 2 + u32::from(*flag));
            let Cpu { x, barriers, access, loads, .. } = cpu;
            return Ok(Outcome { exit: pc, registers: x, nzcv, barriers, access, loads });
        };
        pc += cpu.step(*word)?;
    }
    Err(Stuck)
}

impl Cpu {
    fn get(&self, number: u32, sf: bool) -> u64 {
        let value = if number == 31 { 0 } else { self.x[number as usize] };
        if sf { value } else { value & 0xffff_ffff }
    }

    fn get_sp(&self, number: u32, sf: bool) -> u64 {
        if sf { self.x[number as usize] } else { self.x[number as usize] & 0xffff_ffff }
    }

    fn set(&mut self, number: u32, sf: bool, value: u64) {
        if number != 31 {
            self.set_sp(number, sf, value);
        }
    }

    fn set_sp(&mut self, number: u32, sf: bool, value: u64) {
        self.x[number as usize] = if sf { value } else { value & 0xffff_ffff };
    }

    fn holds(&self, condition: u32) -> bool {
        let positive = match condition {
            0 | 1 => self.z,
            2 | 3 => self.c,
            4 | 5 => self.n,
            6 | 7 => self.v,
            8 | 9 => self.c && !self.z,
            10 | 11 => self.n == self.v,
            12 | 13 => self.n == self.v && !self.z,
            _ => return true,
        };
        positive == (condition & 1 == 0)
    }

    /// `AddWithCarry`, and the flags if wanted.
    fn add(&mut self, a: u64, b: u64, subtract: bool, sf: bool, flags: bool) -> u64 {
        let size = if sf { 64 } else { 32 };
        let b = if subtract { !b & ones(size) } else { b };
        let wide = u128::from(a) + u128::from(b) + u128::from(subtract);
        let exact = i128::from(sign(a, size)) + i128::from(sign(b, size)) + i128::from(subtract);
        let result = wide as u64 & ones(size);
        if flags {
            self.n = sign(result, size) < 0;
            self.z = result == 0;
            self.c = wide != u128::from(result);
            self.v = exact != i128::from(sign(result, size));
        }
        result
    }

    /// Gives how many instructions to go on.
    fn step(&mut self, w: u32) -> Result<i64, Stuck> {
        let f = |low: u32, count: u32| w >> low & ((1 << count) - 1);
        let (sf, rd, rn) = (w >> 31 != 0, f(0, 5), f(5, 5));
        match w {
            0xd503201f | 0xd503203f | 0xd503241f | 0xd503245f | 0xd503249f | 0xd50324df => {}
            _ if w & 0xfffff0ff == 0xd503305f => {}
            _ if w & 0xfffff0ff == 0xd50330bf => self.barriers.push(f(8, 4)),
            _ if w & 0xfc000000 == 0x14000000 => return Ok(sign(u64::from(w), 26)),
            _ if w & 0xff000010 == 0x54000000 => {
                return Ok(if self.holds(f(0, 4)) { sign(u64::from(f(5, 19)), 19) } else { 1 });
            }
            _ if w & 0x7e000000 == 0x34000000 => {
                let taken = (self.get(rd, sf) == 0) == (f(24, 1) == 0);
                return Ok(if taken { sign(u64::from(f(5, 19)), 19) } else { 1 });
            }
            _ if w & 0x7e000000 == 0x36000000 => {
                let bit = f(19, 5) + 32 * f(31, 1);
                let taken = (self.get(rd, true) >> bit & 1 == 0) == (f(24, 1) == 0);
                return Ok(if taken { sign(u64::from(f(5, 14)), 14) } else { 1 });
            }
            _ if w & 0x1f800000 == 0x11000000 => {
                let (a, b) = (self.get_sp(rn, sf), u64::from(f(10, 12)) << (12 * f(22, 1)));
                let flags = f(29, 1) == 1;
                let sum = self.add(a, b, f(30, 1) == 1, sf, flags);
                if flags { self.set(rd, sf, sum) } else { self.set_sp(rd, sf, sum) }
            }
            _ if w & 0x1f800000 == 0x12000000 => {
                let mask = Self::mask(f(22, 1), f(10, 6), f(16, 6), sf).ok_or(Stuck)?;
                let a = self.get(rn, sf);
                self.logic(f(29, 2), a, mask, sf, rd, true);
            }
            _ if w & 0x1f800000 == 0x12800000 => {
                let at = 16 * f(21, 2);
                if !sf && at > 16 {
                    return Err(Stuck);
                }
                let value = u64::from(f(5, 16)) << at;
                let old = self.get(rd, sf);
                let result = match f(29, 2) {
                    0 => !value,
                    2 => value,
                    3 => old & !(0xffff << at) | value,
                    _ => return Err(Stuck),
                };
                self.set(rd, sf, result);
            }
            _ if w & 0x1f800000 == 0x13000000 => self.bitfield(w)?,
            _ if w & 0x7fa00000 == 0x13800000 => {
                let (size, lsb) = (if sf { 64 } else { 32 }, f(10, 6));
                if (f(22, 1) == 1) != sf || lsb >= size {
                    return Err(Stuck);
                }
                let both = u128::from(self.get(rn, sf)) << size | u128::from(self.get(f(16, 5), sf));
                self.set(rd, sf, (both >> lsb) as u64);
            }
            _ => self.step_registers(w)?,
        }
        Ok(1)
    }

    fn step_registers(&mut self, w: u32) -> Result<(), Stuck> {
        let f = |low: u32, count: u32| w >> low & ((1 << count) - 1);
        let (sf, rd, rn, rm) = (w >> 31 != 0, f(0, 5), f(5, 5), f(16, 5));
        let (a, m) = (self.get(rn, sf), self.get(rm, sf));
        let flags = f(29, 1) == 1;
        match w {
            _ if w & 0x1f000000 == 0x0a000000 => {
                let b = Self::shift(m, f(22, 2), f(10, 6), sf).ok_or(Stuck)?;
                let b = if f(21, 1) == 1 { !b } else { b };
                self.logic(f(29, 2), a, b, sf, rd, false);
            }
            _ if w & 0x1f200000 == 0x0b000000 && f(22, 2) != 3 => {
                let b = Self::shift(m, f(22, 2), f(10, 6), sf).ok_or(Stuck)?;
                let sum = self.add(a, b, f(30, 1) == 1, sf, flags);
                self.set(rd, sf, sum);
            }
            _ if w & 0x1fe00000 == 0x0b200000 && f(10, 3) <= 4 => {
                let m = self.get(rm, true);
                let extended = match f(13, 3) {
                    0 => u64::from(m as u8),
                    1 => u64::from(m as u16),
                    2 => u64::from(m as u32),
                    3 | 7 => m,
                    4 => m as i8 as u64,
                    5 => m as i16 as u64,
                    _ => m as i32 as u64,
                };
                let b = extended << f(10, 3) & ones(if sf { 64 } else { 32 });
                let a = self.get_sp(rn, sf);
                let sum = self.add(a, b, f(30, 1) == 1, sf, flags);
                if flags { self.set(rd, sf, sum) } else { self.set_sp(rd, sf, sum) }
            }
            _ if w & 0x3fe00410 == 0x3a400000 => {
                let b = if f(11, 1) == 1 { u64::from(rm) } else { m };
                if self.holds(f(12, 4)) {
                    self.add(a, b, f(30, 1) == 1, sf, true);
                } else {
                    (self.n, self.z) = (f(3, 1) == 1, f(2, 1) == 1);
                    (self.c, self.v) = (f(1, 1) == 1, f(0, 1) == 1);
                }
            }
            _ if w & 0x3fe00800 == 0x1a800000 => {
                let other = match (f(30, 1), f(10, 1)) {
                    (0, 0) => m,
                    (0, _) => m.wrapping_add(1),
                    (_, 0) => !m,
                    _ => m.wrapping_neg(),
                };
                let value = if self.holds(f(12, 4)) { a } else { other };
                self.set(rd, sf, value);
            }
            _ if w & 0x7fe0f000 == 0x1ac02000 => {
                let by = (m % if sf { 64 } else { 32 }) as u32;
                let value = Self::shift(a, f(10, 2), by, sf).ok_or(Stuck)?;
                self.set(rd, sf, value);
            }
            _ if w & 0x7fe00000 == 0x1b000000 => {
                let (product, start) = (a.wrapping_mul(m), self.get(f(10, 5), sf));
                let value =
                    if f(15, 1) == 1 { start.wrapping_sub(product) } else { start.wrapping_add(product) };
                self.set(rd, sf, value);
            }
            _ => self.step_memory(w)?,
        }
        Ok(())
    }

    fn touch(&mut self, bits: u32, rn: u32, acquire: bool) -> Result<u64, Stuck> {
        if self.access.is_some() {
            return Err(Stuck);
        }
        let (place, address) = (self.barriers.len(), self.get_sp(rn, true));
        self.access = Some(Access { place, address, bits, acquire, release: false, stored: None });
        Ok(self.memory as u64 & ones(bits))
    }

    fn store(&mut self, value: u128, release: bool) {
        if let Some(access) = &mut self.access {
            access.stored = Some(value);
            access.release = release;
        }
    }

    fn load(&mut self, address: u64, rt: u32) -> Result<(), Stuck> {
        let value = self.read.pop().ok_or(Stuck)?;
        self.loads.push(address);
        self.set(rt, true, value);
        Ok(())
    }

    /// `ldur` and post-indexed `ldr` of an x register, `ldp` of two from SP.
    fn step_load(&mut self, w: u32) -> Result<bool, Stuck> {
        let f = |low: u32, count: u32| w >> low & ((1 << count) - 1);
        let (rt, rn) = (f(0, 5), f(5, 5));
        let base = self.get_sp(rn, true);
        match (f(21, 11), f(10, 2)) {
            (0x7c2, 0) => self.load(base.wrapping_add(sign(u64::from(f(12, 9)), 9) as u64), rt)?,
            (0x7c2, 1) if rt != rn || rn == 31 => {
                self.load(base, rt)?;
                self.set_sp(rn, true, base.wrapping_add(sign(u64::from(f(12, 9)), 9) as u64));
            }
            (high, _) if high >> 1 == 0x2a5 && rn == 31 && f(15, 1) == 1 && f(10, 5) != rt => {
                let first = base.wrapping_add((sign(u64::from(f(15, 7)), 7) * 8) as u64);
                self.load(first, rt)?;
                self.load(first.wrapping_add(8), f(10, 5))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `ldxp`, `stxp` and `casp`: two registers are one number, the second its high half.
    fn step_pair(&mut self, w: u32) -> Result<bool, Stuck> {
        let f = |low: u32, count: u32| w >> low & ((1 << count) - 1);
        let (rt, rn, rt2, rs) = (f(0, 5), f(5, 5), f(10, 5), f(16, 5));
        let (wide, half) = (f(30, 1) == 1, 32 << f(30, 1));
        let join = |cpu: &Cpu, low: u32, high: u32| {
            u128::from(cpu.get(low, wide)) | u128::from(cpu.get(high, wide)) << half
        };
        let cell = if wide { self.memory } else { self.memory & u128::from(u64::MAX) };
        let part = |cpu: &mut Cpu, low: u32, high: u32| {
            cpu.set(low, wide, cell as u64);
            cpu.set(high, wide, (cell >> half) as u64);
        };
        match w {
            _ if w & 0xbfff0000 == 0x887f0000 && rt != rt2 => {
                self.touch(2 * half, rn, f(15, 1) == 1)?;
                part(self, rt, rt2);
            }
            _ if w & 0xbfe00000 == 0x88200000 => {
                let access = self.access.as_ref().filter(|access| access.stored.is_none()).ok_or(Stuck)?;
                let elsewhere = access.address != self.get_sp(rn, true) || access.bits != 2 * half;
                if elsewhere || rs == rt || rs == rt2 || rs == rn && rn != 31 {
                    return Err(Stuck);
                }
                self.store(join(self, rt, rt2), f(15, 1) == 1);
                self.set(rs, false, 0);
            }
            _ if w & 0xbfa07c00 == 0x08207c00 && rs % 2 == 0 && rt % 2 == 0 && rs < 30 && rt < 30 => {
                let (expected, new) = (join(self, rs, rs + 1), join(self, rt, rt + 1));
                self.touch(2 * half, rn, f(22, 1) == 1)?;
                if cell == expected {
                    self.store(new, f(15, 1) == 1);
                }
                part(self, rs, rs + 1);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn step_memory(&mut self, w: u32) -> Result<(), Stuck> {
        if self.step_load(w)? || self.step_pair(w)? {
            return Ok(());
        }
        let f = |low: u32, count: u32| w >> low & ((1 << count) - 1);
        let (rt, rn, rs, bits) = (f(0, 5), f(5, 5), f(16, 5), 8 << f(30, 2));
        let value = |cpu: &Cpu, register: u32| cpu.get(register, true) & ones(bits);
        match w & 0x3fffffff {
            masked if masked & 0x3fff7c00 == 0x085f7c00 => {
                let loaded = self.touch(bits, rn, f(15, 1) == 1)?;
                self.set(rt, true, loaded);
            }
            masked if masked & 0x3fe07c00 == 0x08007c00 => {
                let access = self.access.as_ref().filter(|access| access.stored.is_none()).ok_or(Stuck)?;
                if access.address != self.get_sp(rn, true)
                    || access.bits != bits
                    || rs == rt
                    || rs == rn && rn != 31
                {
                    return Err(Stuck);
                }
                self.store(value(self, rt).into(), f(15, 1) == 1);
                self.set(rs, false, 0);
            }
            masked if masked & 0x3fa07c00 == 0x08a07c00 => {
                let (expected, new) = (value(self, rs), value(self, rt));
                let loaded = self.touch(bits, rn, f(22, 1) == 1)?;
                if loaded == expected {
                    self.store(new.into(), f(15, 1) == 1);
                }
                self.set(rs, true, loaded);
            }
            masked if masked & 0x3f200c00 == 0x38200000 => {
                let b = value(self, rs);
                let a = self.touch(bits, rn, f(23, 1) == 1)?;
                let (signed_a, signed_b) = (sign(a, bits), sign(b, bits));
                let new = match f(12, 4) {
                    0 => a.wrapping_add(b),
                    1 => a & !b,
                    2 => a ^ b,
                    3 => a | b,
                    4 => signed_a.max(signed_b) as u64,
                    5 => signed_a.min(signed_b) as u64,
                    6 => a.max(b),
                    7 => a.min(b),
                    8 => b,
                    _ => return Err(Stuck),
                };
                self.store((new & ones(bits)).into(), f(22, 1) == 1);
                self.set(rt, true, a);
            }
            _ => return Err(Stuck),
        }
        Ok(())
    }

    fn logic(&mut self, opcode: u32, a: u64, b: u64, sf: bool, rd: u32, immediate: bool) {
        let value = match opcode {
            1 => a | b,
            2 => a ^ b,
            _ => a & b,
        };
        let value = if sf { value } else { value & 0xffff_ffff };
        if opcode == 3 {
            self.n = value >> (if sf { 63 } else { 31 }) == 1;
            self.z = value == 0;
            (self.c, self.v) = (false, false);
        }
        if immediate && opcode != 3 { self.set_sp(rd, sf, value) } else { self.set(rd, sf, value) }
    }

    fn shift(value: u64, kind: u32, by: u32, sf: bool) -> Option<u64> {
        let narrow = value as u32;
        match (sf, kind) {
            (false, _) if by >= 32 => None,
            (true, 0) => Some(value << by),
            (true, 1) => Some(value >> by),
            (true, 2) => Some((value as i64 >> by) as u64),
            (true, _) => Some(value.rotate_right(by)),
            (false, 0) => Some(u64::from(narrow << by)),
            (false, 1) => Some(u64::from(narrow >> by)),
            (false, 2) => Some(u64::from((narrow as i32 >> by) as u32)),
            (false, _) => Some(u64::from(narrow.rotate_right(by))),
        }
    }

    /// The bit mask: a run of ones in an element, rotated and repeated.
    fn mask(n: u32, imms: u32, immr: u32, sf: bool) -> Option<u64> {
        if n == 1 && !sf {
            return None;
        }
        let size = match (n, imms) {
            (1, _) => 64,
            (_, 0..=0b011111) => 32,
            (_, 0b100000..=0b101111) => 16,
            (_, 0b110000..=0b110111) => 8,
            (_, 0b111000..=0b111011) => 4,
            (_, 0b111100..=0b111101) => 2,
            _ => return None,
        };
        let (run, by) = (imms % size + 1, immr % size);
        if run == size {
            return None;
        }
        let element = ones(run);
        let element = if by == 0 { element } else { (element >> by | element << (size - by)) & ones(size) };
        Some((0..64 / size).fold(0, |mask, at| mask | element << (at * size)))
    }

    /// As the pseudocode has it: rotate, then two masks.
    fn bitfield(&mut self, w: u32) -> Result<(), Stuck> {
        let f = |low: u32, count: u32| w >> low & ((1 << count) - 1);
        let (sf, rd, rn, r, s) = (w >> 31 != 0, f(0, 5), f(5, 5), f(16, 6), f(10, 6));
        let size = if sf { 64 } else { 32 };
        if (f(22, 1) == 1) != sf || r >= size || s >= size || f(29, 2) == 3 {
            return Err(Stuck);
        }
        let (source, old) = (self.get(rn, sf), self.get(rd, sf));
        let rotated = if sf { source.rotate_right(r) } else { u64::from((source as u32).rotate_right(r)) };
        let run = ones(s + 1);
        let written = if sf { run.rotate_right(r) } else { u64::from((run as u32).rotate_right(r)) };
        let top = ones((s.wrapping_sub(r) & (size - 1)) + 1);
        let (base, fill) = match f(29, 2) {
            0 => (0, if source >> s & 1 == 1 { u64::MAX } else { 0 }),
            1 => (old, old),
            _ => (0, 0),
        };
        let bottom = base & !written | rotated & written;
        self.set(rd, sf, fill & !top | bottom & top);
        Ok(())
    }
}

//! A third reading of the Arm ARM: instructions → terms of SMT-LIB 2, over arrays of bytes and bit vectors.
//!
//! Written after the pseudocode of DDI 0487, C6.2 and J1, a function each where the manual has one. It shares
//! nothing with the prover and nothing with the interpreter of numbers: registers are bit vectors, memory is
//! an array of bytes (little endian), and each path through a sequence has its condition as a term. Whether a
//! path is ever taken is for a solver to say. Store-exclusives succeed.

use std::fmt::Write;

/// A term, or the name of one.
pub(crate) type Term = String;

/// Definitions, each of a name for a term.
pub(crate) struct Script {
    pub(crate) text: String,
    names: usize,
}

/// One path through a sequence: how it ends, when it is taken, and what it leaves.
#[derive(Clone)]
pub(crate) struct Path {
    pub(crate) end: End,
    pub(crate) condition: Term,
    /// x0 to x30, then SP.
    pub(crate) x: Vec<Term>,
    /// N, Z, C, V.
    pub(crate) flags: [Term; 4],
    pub(crate) memory: Term,
    pub(crate) access: Option<Access>,
    /// Options, in their order.
    pub(crate) barriers: Vec<u32>,
    /// The addresses of the plain loads.
    pub(crate) loads: Vec<Term>,
    /// What the plain loads read, the first first; there are no more of them.
    pub(crate) reads: Vec<Term>,
    /// The address and size of a load-exclusive, until something clears its monitor.
    pub(crate) monitor: Option<(Term, u32)>,
    pub(crate) visited: u64,
    pub(crate) pc: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Running,
    /// In instructions from the first.
    Left(i64),
    /// At an instruction without a meaning here, or one that is reached twice.
    Stuck,
}

/// What orders the sequence in memory, apart from what it computes.
#[derive(Clone)]
pub(crate) struct Access {
    /// Barriers before it.
    pub(crate) place: usize,
    pub(crate) address: Term,
    pub(crate) bytes: u32,
    /// Whether the architecture calls it a load: the atomics without a destination are none.
    pub(crate) loads: bool,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    /// When it stores.
    pub(crate) stored: Term,
}

/// No meaning here: unallocated, constrained unpredictable, or no part of the language.
struct Stuck;

enum Next {
    On(i64),
    /// Some instructions on where the term holds, one where it does not.
    Either(Term, i64),
    /// One instruction on where the term holds, stuck where it does not.
    Only(Term),
}

fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & ((1 << (high - low + 1)) - 1)
}

fn bit(word: u32, at: u32) -> bool {
    bits(word, at, at) == 1
}

/// `SInt` of a field.
fn signed(word: u32, high: u32, low: u32) -> i64 {
    let size = high - low + 1;
    let value = i64::from(bits(word, high, low));
    if value >> (size - 1) == 1 { value - (1 << size) } else { value }
}

/// `Ones`.
fn ones(count: u32) -> u64 {
    1_u64.checked_shl(count).map_or(u64::MAX, |one| one - 1)
}

pub(crate) fn constant(value: u64, size: u32) -> Term {
    format!("(_ bv{} {size})", value & ones(size))
}

fn vector(size: u32) -> String {
    format!("(_ BitVec {size})")
}

pub(crate) const MEMORY: &str = "(Array (_ BitVec 64) (_ BitVec 8))";

impl Script {
    /// What all begin in: `x0` to `x30`, `sp`, `n`, `z`, `c`, `v` and `memory`.
    pub(crate) fn new() -> Script {
        let mut text = String::new();
        for register in registers() {
            let _ = writeln!(text, "(declare-const {register} (_ BitVec 64))");
        }
        for flag in ["n", "z", "c", "v"] {
            let _ = writeln!(text, "(declare-const {flag} Bool)");
        }
        let _ = writeln!(text, "(declare-const memory {MEMORY})");
        Script { text, names: 0 }
    }

    pub(crate) fn define(&mut self, sort: &str, value: &str) -> Term {
        self.names += 1;
        let name = format!("t{}", self.names);
        let _ = writeln!(self.text, "(define-fun {name} () {sort} {value})");
        name
    }

    fn vector(&mut self, size: u32, value: &str) -> Term {
        self.define(&vector(size), value)
    }

    fn truth(&mut self, value: &str) -> Term {
        self.define("Bool", value)
    }

    /// All paths through a sequence from its first instruction, from a state.
    pub(crate) fn run(&mut self, words: &[u32], start: Path) -> Vec<Path> {
        let (mut waiting, mut ended) = (vec![start], Vec::new());
        while let Some(mut path) = waiting.pop() {
            // Back at the first instruction after the access is out: what follows is another run, from
            // another state.
            let inside = usize::try_from(path.pc).ok().filter(|pc| *pc > 0 || path.access.is_none());
            let Some((at, word)) = inside.and_then(|pc| Some((pc, *words.get(pc)?))) else {
                path.end = End::Left(path.pc);
                ended.push(path);
                continue;
            };
            assert!(at < 64 && waiting.len() + ended.len() < 256, "too long a sequence: {words:x?}");
            let again = path.visited >> at & 1 == 1;
            path.visited |= 1 << at;
            match if again { Err(Stuck) } else { self.step(&mut path, word) } {
                Ok(next) => match next {
                    Next::On(by) => {
                        path.pc += by;
                        waiting.push(path);
                    }
                    Next::Either(taken, by) => {
                        let mut other = self.where_not(&path, &taken);
                        other.pc += 1;
                        path = self.where_so(&path, &taken);
                        path.pc += by;
                        waiting.extend([path, other]);
                    }
                    Next::Only(going) => {
                        let mut other = self.where_not(&path, &going);
                        other.end = End::Stuck;
                        ended.push(other);
                        path = self.where_so(&path, &going);
                        path.pc += 1;
                        waiting.push(path);
                    }
                },
                Err(Stuck) => {
                    path.end = End::Stuck;
                    ended.push(path);
                }
            }
        }
        ended
    }

    fn where_so(&mut self, path: &Path, holds: &str) -> Path {
        let condition = self.truth(&format!("(and {} {holds})", path.condition));
        Path { condition, ..path.clone() }
    }

    fn where_not(&mut self, path: &Path, holds: &str) -> Path {
        self.where_so(path, &format!("(not {holds})"))
    }

    /// C4.1.
    fn step(&mut self, path: &mut Path, word: u32) -> Result<Next, Stuck> {
        match bits(word, 28, 25) {
            0b1000 | 0b1001 => self.immediate(path, word)?,
            0b1010 | 0b1011 => return self.branch_or_system(path, word),
            0b0101 | 0b1101 => self.registers(path, word)?,
            0b0100 | 0b0110 | 0b1100 | 0b1110 => return self.access(path, word),
            _ => return Err(Stuck),
        }
        Ok(Next::On(1))
    }

    /// C4.1: data processing with an immediate.
    fn immediate(&mut self, path: &mut Path, word: u32) -> Result<(), Stuck> {
        let (size, opcode) = (if bit(word, 31) { 64 } else { 32 }, bits(word, 30, 29));
        let (d, n) = (bits(word, 4, 0), bits(word, 9, 5));
        let (immr, imms) = (bits(word, 21, 16), bits(word, 15, 10));
        match bits(word, 25, 23) {
            0b010 => {
                let value = u64::from(bits(word, 21, 10)) << if bit(word, 22) { 12 } else { 0 };
                let first = path.or_sp(n, size);
                let (sum, flags) = self.sum(&first, &constant(value, size), bit(word, 30), size);
                if bit(word, 29) {
                    path.flags = flags;
                    self.set(path, d, size, &sum);
                } else {
                    self.set_or_sp(path, d, size, &sum);
                }
            }
            0b100 => {
                if size == 32 && bit(word, 22) {
                    return Err(Stuck);
                }
                let (mask, _) = decode_bit_masks(bits(word, 22, 22), imms, immr, true).ok_or(Stuck)?;
                let value = self.logical(path, opcode, &path.get(n, size), &constant(mask, size), size);
                if opcode == 3 {
                    self.set(path, d, size, &value);
                } else {
                    self.set_or_sp(path, d, size, &value);
                }
            }
            0b101 => {
                let at = 16 * bits(word, 22, 21);
                if at >= size {
                    return Err(Stuck);
                }
                let value = u64::from(bits(word, 20, 5)) << at;
                let term = match opcode {
                    0b00 => constant(!value, size),
                    0b10 => constant(value, size),
                    0b11 => {
                        let kept = constant(!(0xffff << at), size);
                        format!("(bvor (bvand {} {kept}) {})", path.get(d, size), constant(value, size))
                    }
                    _ => return Err(Stuck),
                };
                self.set(path, d, size, &term);
            }
            0b110 => {
                if bit(word, 22) != bit(word, 31) || immr >= size || imms >= size || opcode == 3 {
                    return Err(Stuck);
                }
                let masks = decode_bit_masks(bits(word, 22, 22), imms, immr, false);
                let (written, top) = masks.ok_or(Stuck)?;
                let (written, top) = (constant(written, size), constant(top, size));
                let (zero, source) = (constant(0, size), path.get(n, size));
                let target = if opcode == 1 { path.get(d, size) } else { zero.clone() };
                let rotated = format!("((_ rotate_right {immr}) {source})");
                let bottom = format!("(bvor (bvand {target} (bvnot {written})) (bvand {rotated} {written}))");
                let above = match opcode {
                    0 => {
                        let sign = format!("(= ((_ extract {imms} {imms}) {source}) #b1)");
                        format!("(ite {sign} (bvnot {zero}) {zero})")
                    }
                    _ => target,
                };
                self.set(
                    path,
                    d,
                    size,
                    &format!("(bvor (bvand {above} (bvnot {top})) (bvand {bottom} {top}))"),
                );
            }
            0b111 => {
                if opcode != 0 || bit(word, 22) != bit(word, 31) || bit(word, 21) || imms >= size {
                    return Err(Stuck);
                }
                let both = format!("(concat {} {})", path.get(n, size), path.get(bits(word, 20, 16), size));
                self.set(path, d, size, &format!("((_ extract {} {imms}) {both})", imms + size - 1));
            }
            _ => return Err(Stuck),
        }
        Ok(())
    }

    /// C4.1: data processing with registers.
    fn registers(&mut self, path: &mut Path, word: u32) -> Result<(), Stuck> {
        let (size, opcode) = (if bit(word, 31) { 64 } else { 32 }, bits(word, 30, 29));
        let (d, n, m) = (bits(word, 4, 0), bits(word, 9, 5), bits(word, 20, 16));
        let amount = bits(word, 15, 10);
        let by = |path: &Path| {
            if amount >= size {
                return Err(Stuck);
            }
            let (value, by) = (path.get(m, size), constant(amount.into(), size));
            Ok(match bits(word, 23, 22) {
                0 => format!("(bvshl {value} {by})"),
                1 => format!("(bvlshr {value} {by})"),
                2 => format!("(bvashr {value} {by})"),
                _ => format!("((_ rotate_right {amount}) {value})"),
            })
        };
        match bits(word, 28, 24) {
            0b01010 => {
                let second = by(path)?;
                let second = if bit(word, 21) { format!("(bvnot {second})") } else { second };
                let value = self.logical(path, opcode, &path.get(n, size), &second, size);
                self.set(path, d, size, &value);
            }
            0b01011 if !bit(word, 21) => {
                let second = by(path)?;
                if bits(word, 23, 22) == 3 {
                    return Err(Stuck);
                }
                let (sum, flags) = self.sum(&path.get(n, size), &second, bit(word, 30), size);
                if bit(word, 29) {
                    path.flags = flags;
                }
                self.set(path, d, size, &sum);
            }
            0b01011 => {
                let (option, left) = (bits(word, 15, 13), bits(word, 12, 10));
                if bits(word, 23, 22) != 0 || left > 4 {
                    return Err(Stuck);
                }
                // ExtendReg
                let length = (8 << (option & 3)).min(size - left);
                let extend = if option >= 4 { "sign_extend" } else { "zero_extend" };
                let low = format!("((_ extract {} 0) {})", length - 1, path.get(m, 64));
                let extended = format!("((_ {extend} {}) {low})", size - length);
                let second = format!("(bvshl {extended} {})", constant(left.into(), size));
                let first = path.or_sp(n, size);
                let (sum, flags) = self.sum(&first, &second, bit(word, 30), size);
                if bit(word, 29) {
                    path.flags = flags;
                    self.set(path, d, size, &sum);
                } else {
                    self.set_or_sp(path, d, size, &sum);
                }
            }
            0b11010 => self.conditional_or_shift(path, word, size)?,
            0b11011 if opcode == 0 && bits(word, 23, 21) == 0 => {
                let product = format!("(bvmul {} {})", path.get(n, size), path.get(m, size));
                let operation = if bit(word, 15) { "bvsub" } else { "bvadd" };
                let value = format!("({operation} {} {product})", path.get(bits(word, 14, 10), size));
                self.set(path, d, size, &value);
            }
            _ => return Err(Stuck),
        }
        Ok(())
    }

    fn conditional_or_shift(&mut self, path: &mut Path, word: u32, size: u32) -> Result<(), Stuck> {
        let (d, n, m) = (bits(word, 4, 0), bits(word, 9, 5), bits(word, 20, 16));
        let (first, second) = (path.get(n, size), path.get(m, size));
        let condition = path.holds(bits(word, 15, 12));
        match bits(word, 23, 21) {
            // ccmn, ccmp
            0b010 if bit(word, 29) && !bit(word, 10) && !bit(word, 4) => {
                let second = if bit(word, 11) { constant(m.into(), size) } else { second };
                let (_, flags) = self.sum(&first, &second, bit(word, 30), size);
                path.flags = std::array::from_fn(|at| {
                    let given = bit(word, 3 - at as u32);
                    self.truth(&format!("(ite {condition} {} {given})", flags[at]))
                });
            }
            // csel, csinc, csinv, csneg
            0b100 if !bit(word, 29) && !bit(word, 11) => {
                let other = if bit(word, 30) { format!("(bvnot {second})") } else { second };
                let one = constant(1, size);
                let other = if bit(word, 10) { format!("(bvadd {other} {one})") } else { other };
                self.set(path, d, size, &format!("(ite {condition} {first} {other})"));
            }
            // lslv, lsrv, asrv, rorv
            0b110 if bits(word, 30, 29) == 0 && bits(word, 15, 12) == 0b0010 => {
                let by = self.vector(size, &format!("(bvurem {second} {})", constant(size.into(), size)));
                let value = match bits(word, 11, 10) {
                    0 => format!("(bvshl {first} {by})"),
                    1 => format!("(bvlshr {first} {by})"),
                    2 => format!("(bvashr {first} {by})"),
                    _ => {
                        let rest = format!("(bvsub {} {by})", constant(size.into(), size));
                        format!("(bvor (bvlshr {first} {by}) (bvshl {first} {rest}))")
                    }
                };
                self.set(path, d, size, &value);
            }
            _ => return Err(Stuck),
        }
        Ok(())
    }

    /// C4.1: branches, hints and barriers.
    fn branch_or_system(&mut self, path: &mut Path, word: u32) -> Result<Next, Stuck> {
        let nineteen = signed(word, 23, 5);
        let branch = |zero: String, offset: i64| {
            let taken = if bit(word, 24) { format!("(not {zero})") } else { zero };
            Ok(Next::Either(taken, offset))
        };
        if bits(word, 31, 26) == 0b000101 {
            return Ok(Next::On(signed(word, 25, 0)));
        }
        if bits(word, 31, 24) == 0b0101_0100 && !bit(word, 4) {
            return Ok(Next::Either(path.holds(bits(word, 3, 0)), nineteen));
        }
        if bits(word, 30, 25) == 0b011010 {
            let size = if bit(word, 31) { 64 } else { 32 };
            return branch(
                format!("(= {} {})", path.get(bits(word, 4, 0), size), constant(0, size)),
                nineteen,
            );
        }
        if bits(word, 30, 25) == 0b011011 {
            let at = bits(word, 31, 31) << 5 | bits(word, 23, 19);
            let tested = format!("((_ extract {at} {at}) {})", path.get(bits(word, 4, 0), 64));
            return branch(format!("(= {tested} #b0)"), signed(word, 18, 5));
        }
        match (bits(word, 31, 12), bits(word, 11, 5), bits(word, 4, 0)) {
            // nop, yield; bti, bti c, bti j, bti jc
            (0xd5032, 0 | 1 | 32 | 34 | 36 | 38, 31) => {}
            (0xd5033, system, 31) if system & 7 == 0b010 => path.monitor = None, // clrex
            (0xd5033, system, 31) if system & 7 == 0b101 => path.barriers.push(system >> 3), // dmb
            _ => return Err(Stuck),
        }
        Ok(Next::On(1))
    }

    /// C4.1: the exclusives and the atomics.
    fn access(&mut self, path: &mut Path, word: u32) -> Result<Next, Stuck> {
        match bits(word, 29, 24) {
            0b001000 => match (bit(word, 23), bit(word, 21), bit(word, 22)) {
                (false, pair, true) if !pair || bit(word, 31) => self.load_exclusive(path, word, pair),
                (false, pair, false) if !pair || bit(word, 31) => self.store_exclusive(path, word, pair),
                (false, true, _) => self.compare_and_swap(path, word, true),
                (true, true, _) => self.compare_and_swap(path, word, false),
                _ => Err(Stuck),
            },
            0b111000 if bit(word, 21) && bits(word, 11, 10) == 0 => self.update(path, word),
            _ => self.plain(path, word),
        }
    }

    /// `ldr` with an unsigned offset; `ldur`, post-indexed `ldr` and `ldp` of x registers. What they read is
    /// not memory as the access finds it: another may have written to it.
    fn plain(&mut self, path: &mut Path, word: u32) -> Result<Next, Stuck> {
        let (t, n, t2) = (bits(word, 4, 0), bits(word, 9, 5), bits(word, 14, 10));
        let base = path.or_sp(n, 64);
        let plus = |offset: i64| format!("(bvadd {base} {})", constant(offset.cast_unsigned(), 64));
        let nine = signed(word, 20, 12);
        match (bits(word, 29, 22), bits(word, 31, 30), bits(word, 21, 21), bits(word, 11, 10)) {
            (0b1110_0101, size, _, _) => {
                self.read(path, t, &plus(i64::from(bits(word, 21, 10)) << size), 8 << size)?;
            }
            (0b1110_0001, 3, 0, 0b00) => self.read(path, t, &plus(nine), 64)?,
            (0b1110_0001, 3, 0, 0b01) if t != n || n == 31 => {
                self.read(path, t, &base, 64)?;
                self.set_or_sp(path, n, 64, &plus(nine));
            }
            // Where SP is aligned and the offset an odd multiple of 8, the two are two accesses (FEAT_LSE2,
            // B2.2.1).
            (0b1010_0101, 2, _, _) if n == 31 && bit(word, 15) && t != t2 => {
                let seven = 8 * signed(word, 21, 15);
                self.read(path, t, &plus(seven), 64)?;
                self.read(path, t2, &plus(seven + 8), 64)?;
            }
            _ => return Err(Stuck),
        }
        Ok(Next::On(1))
    }

    fn read(&mut self, path: &mut Path, t: u32, address: &str, size: u32) -> Result<(), Stuck> {
        let value = path.reads.get(path.loads.len()).filter(|_| path.access.is_none()).ok_or(Stuck)?;
        let value = format!("((_ extract {} 0) {value})", size - 1);
        path.loads.push(self.vector(64, address));
        self.set(path, t, size, &value);
        Ok(())
    }

    /// The one access, as far as it has only loaded; what it loads.
    fn begin(&mut self, path: &mut Path, word: u32, bytes: u32, acquire: bool) -> Result<Term, Stuck> {
        if path.access.is_some() {
            return Err(Stuck);
        }
        let (address, stored) = (path.or_sp(bits(word, 9, 5), 64), "false".to_owned());
        let value = self.load(&path.memory, &address, bytes);
        let place = path.barriers.len();
        let access = Access { place, address, bytes, loads: true, acquire, release: false, stored };
        path.access = Some(access);
        Ok(value)
    }

    fn load_exclusive(&mut self, path: &mut Path, word: u32, pair: bool) -> Result<Next, Stuck> {
        let (t, t2, s) = (bits(word, 4, 0), bits(word, 14, 10), bits(word, 20, 16));
        if s != 31 || if pair { t == t2 } else { t2 != 31 } {
            return Err(Stuck);
        }
        let one = 1 << bits(word, 31, 30);
        let bytes = if pair { 2 * one } else { one };
        let value = self.begin(path, word, bytes, bit(word, 15))?;
        path.monitor = path.access.as_ref().map(|access| (access.address.clone(), bytes));
        if pair {
            self.set_halves(path, [t, t2], 8 * one, &value);
        } else {
            self.set(path, t, 8 * one, &value);
        }
        Ok(Next::On(1))
    }

    fn store_exclusive(&mut self, path: &mut Path, word: u32, pair: bool) -> Result<Next, Stuck> {
        let (t, n, t2, s) = (bits(word, 4, 0), bits(word, 9, 5), bits(word, 14, 10), bits(word, 20, 16));
        let unpredictable = s == t || pair && s == t2 || s == n && n != 31;
        if unpredictable || !pair && t2 != 31 {
            return Err(Stuck);
        }
        let one = 1 << bits(word, 31, 30);
        let bytes = if pair { 2 * one } else { one };
        let address = path.or_sp(n, 64);
        let (Some((armed, size)), Some(access)) = (path.monitor.take(), &mut path.access) else {
            return Err(Stuck);
        };
        // Barriers between the two are no part of the language.
        if size != bytes || access.place != path.barriers.len() {
            return Err(Stuck);
        }
        access.release = bit(word, 15);
        "true".clone_into(&mut access.stored);
        let low = path.get(t, 8 * one);
        let value = if pair { format!("(concat {} {low})", path.get(t2, 8 * one)) } else { low };
        path.memory = self.store(&path.memory, &address, &value, bytes);
        self.set(path, s, 32, &constant(0, 32));
        Ok(Next::Only(format!("(= {armed} {address})")))
    }

    fn compare_and_swap(&mut self, path: &mut Path, word: u32, pair: bool) -> Result<Next, Stuck> {
        let (t, s) = (bits(word, 4, 0), bits(word, 20, 16));
        if bits(word, 14, 10) != 31 || pair && (bit(word, 0) || bit(word, 16)) {
            return Err(Stuck);
        }
        let one = if pair { 4 << bits(word, 30, 30) } else { 1 << bits(word, 31, 30) };
        let bytes = if pair { 2 * one } else { one };
        let value = |first: u32| {
            let low = path.get(first, 8 * one);
            if pair { format!("(concat {} {low})", path.get(first + 1, 8 * one)) } else { low }
        };
        let (expected, new) = (value(s), value(t));
        let loaded = self.begin(path, word, bytes, bit(word, 22))?;
        let equal = self.truth(&format!("(= {loaded} {expected})"));
        let changed = self.store(&path.memory, &path.or_sp(bits(word, 9, 5), 64), &new, bytes);
        path.memory = self.define(MEMORY, &format!("(ite {equal} {changed} {})", path.memory));
        if let Some(access) = &mut path.access {
            (access.stored, access.release) = (equal, bit(word, 15));
        }
        if pair {
            self.set_halves(path, [s, s + 1], 8 * one, &loaded);
        } else {
            self.set(path, s, 8 * one, &loaded);
        }
        Ok(Next::On(1))
    }

    /// `ldadd` and its like, `swp`.
    fn update(&mut self, path: &mut Path, word: u32) -> Result<Next, Stuck> {
        let (t, bytes) = (bits(word, 4, 0), 1 << bits(word, 31, 30));
        let operand = path.get(bits(word, 20, 16), 8 * bytes);
        // Without a destination it neither acquires nor counts as a load (C6.2, LDADD).
        let a = self.begin(path, word, bytes, bit(word, 23) && t != 31)?;
        let value = match bits(word, 15, 12) {
            0b0000 => format!("(bvadd {a} {operand})"),
            0b0001 => format!("(bvand {a} (bvnot {operand}))"),
            0b0010 => format!("(bvxor {a} {operand})"),
            0b0011 => format!("(bvor {a} {operand})"),
            0b0100 => format!("(ite (bvsgt {a} {operand}) {a} {operand})"),
            0b0101 => format!("(ite (bvsgt {a} {operand}) {operand} {a})"),
            0b0110 => format!("(ite (bvugt {a} {operand}) {a} {operand})"),
            0b0111 => format!("(ite (bvugt {a} {operand}) {operand} {a})"),
            0b1000 => operand,
            _ => return Err(Stuck),
        };
        path.memory = self.store(&path.memory, &path.or_sp(bits(word, 9, 5), 64), &value, bytes);
        if let Some(access) = &mut path.access {
            (access.stored, access.release, access.loads) = ("true".to_owned(), bit(word, 22), t != 31);
        }
        self.set(path, t, 8 * bytes, &a);
        Ok(Next::On(1))
    }

    /// `Mem[]`, read.
    fn load(&mut self, memory: &str, address: &str, bytes: u32) -> Term {
        let mut value = format!("(select {memory} {address})");
        for at in 1..bytes {
            value =
                format!("(concat (select {memory} (bvadd {address} {})) {value})", constant(at.into(), 64));
        }
        self.vector(8 * bytes, &value)
    }

    /// `Mem[]`, written.
    fn store(&mut self, memory: &str, address: &str, value: &str, bytes: u32) -> Term {
        let value = self.vector(8 * bytes, value);
        let mut after = memory.to_owned();
        for at in 0..bytes {
            let place = format!("(bvadd {address} {})", constant(at.into(), 64));
            after = format!("(store {after} {place} ((_ extract {} {}) {value}))", 8 * at + 7, 8 * at);
        }
        self.define(MEMORY, &after)
    }

    /// `AddWithCarry`, of the complement and one to subtract.
    fn sum(&mut self, x: &str, y: &str, subtract: bool, size: u32) -> (Term, [Term; 4]) {
        let y = self.vector(size, &if subtract { format!("(bvnot {y})") } else { y.to_owned() });
        let carry = constant(subtract.into(), size + 1);
        let wide = |extend: &str, value: &str| format!("((_ {extend} 1) {value})");
        let mut both = |extend: &str| {
            let value = format!("(bvadd (bvadd {} {}) {carry})", wide(extend, x), wide(extend, &y));
            self.vector(size + 1, &value)
        };
        let (unsigned, signed) = (both("zero_extend"), both("sign_extend"));
        let result = self.vector(size, &format!("((_ extract {} 0) {unsigned})", size - 1));
        let [n, z] = self.negative_and_zero(&result, size);
        let c = self.truth(&format!("(not (= {} {unsigned}))", wide("zero_extend", &result)));
        let v = self.truth(&format!("(not (= {} {signed}))", wide("sign_extend", &result)));
        (result, [n, z, c, v])
    }

    fn logical(&mut self, path: &mut Path, opcode: u32, x: &str, y: &str, size: u32) -> Term {
        let operation = ["bvand", "bvor", "bvxor", "bvand"][opcode as usize];
        let result = self.vector(size, &format!("({operation} {x} {y})"));
        if opcode == 3 {
            let [n, z] = self.negative_and_zero(&result, size);
            path.flags = [n, z, "false".to_owned(), "false".to_owned()];
        }
        result
    }

    fn negative_and_zero(&mut self, value: &str, size: u32) -> [Term; 2] {
        let negative = self.truth(&format!("(= ((_ extract {0} {0}) {value}) #b1)", size - 1));
        [negative, self.truth(&format!("(= {value} {})", constant(0, size)))]
    }

    /// `X[]`, written.
    fn set(&mut self, path: &mut Path, number: u32, size: u32, value: &str) {
        if number != 31 {
            self.set_or_sp(path, number, size, value);
        }
    }

    fn set_or_sp(&mut self, path: &mut Path, number: u32, size: u32, value: &str) {
        let extended = format!("((_ zero_extend {}) {value})", 64 - size);
        path.x[number as usize] = self.vector(64, &extended);
    }

    fn set_halves(&mut self, path: &mut Path, [low, high]: [u32; 2], size: u32, value: &str) {
        self.set(path, low, size, &format!("((_ extract {} 0) {value})", size - 1));
        self.set(path, high, size, &format!("((_ extract {} {size}) {value})", 2 * size - 1));
    }
}

/// The names of the registers at the start.
pub(crate) fn registers() -> Vec<Term> {
    (0..31).map(|number| format!("x{number}")).chain(["sp".to_owned()]).collect()
}

impl Path {
    /// The state that is declared, before the first instruction.
    pub(crate) fn start() -> Path {
        Path {
            end: End::Running,
            condition: "true".to_owned(),
            x: registers(),
            flags: ["n", "z", "c", "v"].map(str::to_owned),
            memory: "memory".to_owned(),
            access: None,
            barriers: Vec::new(),
            loads: Vec::new(),
            reads: Vec::new(),
            monitor: None,
            visited: 0,
            pc: 0,
        }
    }

    /// `X[]`, read: 31 is zero.
    fn get(&self, number: u32, size: u32) -> Term {
        if number == 31 { constant(0, size) } else { self.or_sp(number, size) }
    }

    /// As `get`, 31 being the stack pointer.
    fn or_sp(&self, number: u32, size: u32) -> Term {
        format!("((_ extract {} 0) {})", size - 1, self.x[number as usize])
    }

    /// `ConditionHolds`.
    fn holds(&self, condition: u32) -> Term {
        let [n, z, c, v] = &self.flags;
        let result = match condition >> 1 {
            0b000 => z.clone(),
            0b001 => c.clone(),
            0b010 => n.clone(),
            0b011 => v.clone(),
            0b100 => format!("(and {c} (not {z}))"),
            0b101 => format!("(= {n} {v})"),
            0b110 => format!("(and (= {n} {v}) (not {z}))"),
            _ => return "true".to_owned(),
        };
        if condition & 1 == 1 { format!("(not {result})") } else { result }
    }
}

/// `DecodeBitMasks` of the shared pseudocode: `wmask` and `tmask`.
fn decode_bit_masks(n: u32, imms: u32, immr: u32, immediate: bool) -> Option<(u64, u64)> {
    let length = (n << 6 | !imms & 0x3f).checked_ilog2().filter(|length| *length >= 1)?;
    let (levels, size) = ((1 << length) - 1, 1_u32 << length);
    let (s, r) = (imms & levels, immr & levels);
    if immediate && s == levels {
        return None;
    }
    let d = s.wrapping_sub(r) & levels;
    let replicate = |element: u64| (0..64 / size).fold(0, |all, at| all | element << (at * size));
    let rotate = |value: u64| match r {
        0 => value,
        _ => (value >> r | value << (size - r)) & ones(size),
    };
    Some((replicate(rotate(ones(s + 1))), replicate(ones(d + 1))))
}

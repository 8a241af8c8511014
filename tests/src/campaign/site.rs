//! The sequences that a plan can rewrite, in random registers, sizes, orders and layouts, as compilers write them.
//!
//! In: a pen. Out: a [`Site`]: its instructions, and what must be in its registers before the first of them.

use super::pen::{Code, OPERANDS, Pen};

/// What a site computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Addition and subtraction.
    Add,
    /// And, or, exclusive or, and those with a complement.
    Logic,
    /// A value for another.
    Swap,
    /// The minimum or maximum.
    Extreme,
    /// What no LSE instruction computes.
    Nand,
    /// Compare-and-swap that tries again until the comparison fails.
    StrongCas,
    /// Compare-and-swap that tries once.
    WeakCas,
    /// Compare-and-swap against 0 or another constant.
    ConstantCas,
    /// Compare-and-swap whose new value is made between the exclusives.
    MakingCas,
    /// Compare-and-swap of two registers.
    Pair,
    /// A call of one of libgcc's helpers.
    HelperCall,
    /// A jump to one, in the place of a call and a return.
    HelperTail,
    /// A call of what looks like a helper.
    Impostor,
    /// A barrier next to an atomic instruction.
    Barrier,
}

/// All kinds, those more often that have more to go wrong.
const DRAWN: [Kind; 20] = [
    Kind::Add,
    Kind::Logic,
    Kind::Swap,
    Kind::Extreme,
    Kind::Nand,
    Kind::Nand,
    Kind::Nand,
    Kind::StrongCas,
    Kind::StrongCas,
    Kind::StrongCas,
    Kind::WeakCas,
    Kind::ConstantCas,
    Kind::MakingCas,
    Kind::MakingCas,
    Kind::Pair,
    Kind::Pair,
    Kind::Pair,
    Kind::HelperCall,
    Kind::Impostor,
    Kind::Barrier,
];

/// What a register holds before the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// The address of the memory that the site is on.
    Base,
    /// An operand, by its number.
    Operand(usize),
}

/// Instructions, and what they need.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) kind: Kind,
    /// Bytes of memory.
    pub(super) size: usize,
    pub(super) code: Code,
    /// The register with the address.
    pub(super) base: u8,
    pub(super) given: Vec<(u8, Given)>,
    /// What is compared with, or the other operand, where only its low bits are.
    pub(super) narrow: Option<u8>,
    /// Where it goes on after a failed comparison, if not after its end.
    pub(super) out: Option<String>,
    /// The index of the store-exclusive.
    pub(super) store: Option<usize>,
    pub(super) status: Option<u8>,
    /// What is loaded.
    pub(super) old: Option<u8>,
}

impl Site {
    /// The instruction that arms the monitor: its first.
    pub(super) fn load(&self) -> Option<&str> {
        self.store.and(self.code.lines.get(1)).map(String::as_str)
    }

    /// The register that the load-exclusive writes, or the first of them.
    pub(super) fn loaded(&self) -> Option<u8> {
        let (_, operands) = self.load()?.split_once(' ')?;
        operands.split(',').next()?.get(1..)?.parse().ok()
    }

    /// Whether it is a call of another function.
    pub(super) fn calls(&self) -> bool {
        matches!(self.kind, Kind::HelperCall | Kind::Impostor)
    }
}

/// A sequence being written.
struct Exclusive<'p> {
    pen: &'p mut Pen,
    /// Bytes in each of its registers.
    size: usize,
    acquires: bool,
    releases: bool,
    base: u8,
    old: u8,
    new: u8,
    status: u8,
    start: String,
    code: Code,
    given: Vec<(u8, Given)>,
    narrow: Option<u8>,
    out: Option<String>,
    store: usize,
}

/// How registers are called that are used for so many bytes: `w` or `x`.
pub(super) fn width(size: usize) -> char {
    if size == 8 { 'x' } else { 'w' }
}

/// What an instruction's name ends with that accesses so many bytes.
pub(super) fn suffix(size: usize) -> &'static str {
    match size {
        1 => "b",
        2 => "h",
        _ => "",
    }
}

/// Draws a site of a random kind.
pub(super) fn draw(pen: &mut Pen) -> Site {
    match pen.pick(&DRAWN) {
        Kind::HelperCall => {
            let kind = if pen.chance(30) { Kind::HelperTail } else { Kind::HelperCall };
            helper(pen, kind)
        }
        Kind::Impostor => impostor(pen),
        Kind::Barrier => barrier(pen),
        Kind::Pair => pair(pen),
        kind => exclusive(pen, kind),
    }
}

fn exclusive(pen: &mut Pen, kind: Kind) -> Site {
    let mut site = Exclusive::new(pen);
    match kind {
        Kind::Add => site.arithmetic(&["add", "sub"]),
        Kind::Logic => site.arithmetic(&["and", "orr", "eor", "bic", "orn", "eon"]),
        Kind::Swap => site.swap(),
        Kind::Extreme => site.extreme(),
        Kind::Nand => site.nand(),
        Kind::StrongCas => site.compare_and_swap(),
        Kind::WeakCas => site.weak(),
        Kind::ConstantCas => site.against_constant(),
        _ => site.making(),
    }
    site.finish(kind)
}

impl<'p> Exclusive<'p> {
    fn new(pen: &'p mut Pen) -> Exclusive<'p> {
        let size = pen.pick(&[1, 2, 4, 8]);
        let [base, old] = [(); 2].map(|()| pen.register());
        let [new, status] = [(); 2].map(|()| pen.scratch());
        let (start, acquires, releases) = (pen.label(), pen.chance(60), pen.chance(60));
        let (given, code) = (vec![(base, Given::Base)], Code::default());
        let (narrow, out) = (None, None);
        Exclusive {
            pen,
            size,
            acquires,
            releases,
            base,
            old,
            new,
            status,
            start,
            code,
            given,
            narrow,
            out,
            store: 0,
        }
    }

    fn width(&self) -> char {
        width(self.size)
    }

    fn suffix(&self) -> &'static str {
        suffix(self.size)
    }

    fn operand(&mut self, number: usize) -> u8 {
        let register = self.pen.register();
        self.given.push((register, Given::Operand(number)));
        register
    }

    /// What is compared with; a narrow one at times where system calls leave their result.
    fn expected(&mut self) -> u8 {
        match self.size < 4 && self.pen.chance(25) && self.pen.take(0) {
            true => {
                self.given.push((0, Given::Operand(0)));
                0
            }
            false => self.operand(0),
        }
    }

    fn load(&mut self) {
        let (width, suffix) = (self.width(), self.suffix());
        let acquire = if self.acquires { "a" } else { "" };
        let Exclusive { old, base, .. } = *self;
        let start = format!("{}:", self.start);
        self.code.push(start);
        self.code.set(old, format!("ld{acquire}xr{suffix} {width}{old}, [x{base}]"));
    }

    /// The store-exclusive of the new value, after arithmetic that has nothing to do with it.
    fn store(&mut self) {
        if self.pen.chance(15) {
            self.pen.noise(&mut self.code, 2);
        }
        let (width, suffix) = (self.width(), self.suffix());
        let release = if self.releases { "l" } else { "" };
        let Exclusive { new, base, status, .. } = *self;
        self.store = self.code.lines.len();
        self.code.set(status, format!("st{release}xr{suffix} w{status}, {width}{new}, [x{base}]"));
    }

    /// What tries again where the store-exclusive failed.
    fn again(&mut self) {
        let (start, status) = (self.start.clone(), self.status);
        match self.pen.below(10) {
            0 => {
                let on = self.pen.label();
                self.code.push(format!("cbz w{status}, {on}"));
                self.code.push(format!("b {start}"));
                self.code.push(format!("{on}:"));
            }
            1 => {
                self.pen.noise(&mut self.code, 1);
                self.code.push(format!("cbnz w{status}, {start}"));
            }
            _ => self.code.push(format!("cbnz w{status}, {start}")),
        }
    }

    fn arithmetic(&mut self, operations: &[&str]) {
        let operation = self.pen.pick(operations);
        let (width, operand, shift) = (self.width(), self.operand(0), self.pen.below(31));
        if self.pen.chance(15) {
            self.new = self.old;
        }
        let Exclusive { old, new, .. } = *self;
        self.load();
        let takes_value = !matches!(operation, "bic" | "orn" | "eon");
        let line = match self.pen.below(5) {
            0 if takes_value => {
                let value = self.pen.pick(&[1, 0x7f, 0xff]);
                format!("{operation} {width}{new}, {width}{old}, #{value}")
            }
            1 => format!("{operation} {width}{new}, {width}{old}, {width}{operand}, lsl #{shift}"),
            2 if takes_value && operation != "sub" => {
                format!("{operation} {width}{new}, {width}{operand}, {width}{old}")
            }
            _ => format!("{operation} {width}{new}, {width}{old}, {width}{operand}"),
        };
        self.code.set(new, line);
        self.store();
        self.again();
    }

    fn swap(&mut self) {
        self.given.push((self.new, Given::Operand(2)));
        self.load();
        self.store();
        self.again();
    }

    fn extreme(&mut self) {
        let (width, operand) = (self.width(), self.operand(0));
        let condition = self.pen.pick(&["lt", "gt", "lo", "hi", "le", "ge", "ls", "hs"]);
        let extension = match self.size {
            1 | 2 if self.pen.chance(60) => {
                let sign = if condition.starts_with(['l', 'h']) && condition.ends_with(['o', 'i', 's']) {
                    'u'
                } else {
                    's'
                };
                format!(", {sign}xt{}", self.suffix())
            }
            _ => String::new(),
        };
        self.narrow = (self.size < 4).then_some(operand);
        let Exclusive { old, new, .. } = *self;
        self.load();
        self.code.push(format!("cmp {width}{old}, {width}{operand}{extension}"));
        self.code.set(new, format!("csel {width}{new}, {width}{old}, {width}{operand}, {condition}"));
        self.store();
        self.again();
    }

    fn nand(&mut self) {
        let (width, operand) = (self.width(), self.operand(0));
        // Over what was loaded: the path around a compare-and-swap then takes another register.
        if self.pen.chance(70) {
            self.new = self.old;
        }
        let Exclusive { old, new, .. } = *self;
        self.load();
        match self.pen.below(3) {
            0 => {
                self.code.set(new, format!("and {width}{new}, {width}{old}, {width}{operand}"));
                self.code.set(new, format!("mvn {width}{new}, {width}{new}"));
            }
            1 => self
                .code
                .set(new, format!("madd {width}{new}, {width}{old}, {width}{operand}, {width}{operand}")),
            _ => {
                self.code.set(new, format!("eor {width}{new}, {width}{old}, {width}{operand}"));
                self.code.set(new, format!("add {width}{new}, {width}{new}, #5"));
            }
        }
        self.store();
        self.again();
    }

    /// The comparison with what is expected, and the branch out where it fails.
    fn compare(&mut self) -> u8 {
        let (width, expected) = (self.width(), self.expected());
        let extension = match self.size {
            1 | 2 if self.pen.chance(25) => format!(", uxt{}", self.suffix()),
            _ => String::new(),
        };
        self.narrow = (self.size < 4).then_some(expected);
        let old = self.old;
        self.load();
        self.code.push(format!("cmp {width}{old}, {width}{expected}{extension}"));
        let out = self.leave();
        self.code.push(format!("b.ne {out}"));
        expected
    }

    fn leave(&mut self) -> String {
        let out = self.pen.label();
        self.out = Some(out.clone());
        out
    }

    fn compare_and_swap(&mut self) {
        self.given.push((self.new, Given::Operand(2)));
        self.compare();
        self.store();
        self.again();
    }

    fn weak(&mut self) {
        self.given.push((self.new, Given::Operand(2)));
        self.compare();
        self.store();
        let status = self.status;
        match self.out.clone().filter(|_| self.pen.chance(50)) {
            Some(out) => self.code.push(format!("cbnz w{status}, {out}")),
            None => self.code.push(format!("cmp w{status}, #0")),
        }
    }

    fn against_constant(&mut self) {
        let width = self.width();
        let old = self.old;
        if self.pen.chance(50) {
            self.given.push((self.new, Given::Operand(2)));
        }
        self.load();
        let out = self.leave();
        if self.pen.chance(60) {
            self.code.push(format!("cbnz {width}{old}, {out}"));
        } else {
            self.code.push(format!("cmp {width}{old}, #42"));
            self.code.push(format!("b.ne {out}"));
        }
        self.store();
        self.again();
    }

    fn making(&mut self) {
        let width = self.width();
        let expected = match self.pen.chance(70) {
            true => self.compare(),
            false => {
                self.against_zero();
                self.operand(2)
            }
        };
        if self.pen.chance(30) {
            self.new = expected;
        }
        let new = self.new;
        let line = self.pen.pick(&[
            format!("add {width}{new}, {width}{expected}, #3"),
            format!("orr {width}{new}, {width}{expected}, #4"),
            format!("mov {width}{new}, #77"),
        ]);
        self.code.set(new, line);
        self.store();
        self.again();
    }

    fn against_zero(&mut self) {
        let (width, old) = (self.width(), self.old);
        self.load();
        let out = self.leave();
        self.code.push(format!("cbnz {width}{old}, {out}"));
    }

    fn finish(self, kind: Kind) -> Site {
        let Exclusive { size, code, base, given, narrow, out, store, status, old, .. } = self;
        let [status, old] = [Some(status), Some(old)];
        Site { kind, size, code, base, given, narrow, out, store: Some(store), status, old }
    }
}

/// A compare-and-swap of 8 or 16 bytes in two registers.
fn pair(pen: &mut Pen) -> Site {
    let width = pen.pick(&['x', 'x', 'x', 'w']);
    let (base, status) = (pen.register(), pen.scratch());
    let old = if pen.chance(75) { pen.pair() } else { [pen.register(), pen.register()] };
    let new = if pen.chance(25) { pen.pair() } else { [pen.register(), pen.register()] };
    let expected = [pen.register(), pen.register()];
    let (start, out) = (pen.label(), pen.label());
    let (acquire, release) = (pen.pick(&["a", ""]), pen.pick(&["l", ""]));
    let mut code = Code::default();
    code.push(format!("{start}:"));
    code.set(old[0], format!("ld{acquire}xp {width}{}, {width}{}, [x{base}]", old[0], old[1]));
    code.writes |= 1 << old[1];
    code.push(format!("cmp {width}{}, {width}{}", old[0], expected[0]));
    if pen.chance(35) {
        code.set(status, format!("cset w{status}, ne"));
        code.push(format!("cmp {width}{}, {width}{}", old[1], expected[1]));
        code.set(status, format!("cinc w{status}, w{status}, ne"));
        code.push(format!("cbnz w{status}, {out}"));
    } else {
        code.push(format!("ccmp {width}{}, {width}{}, #0, eq", old[1], expected[1]));
        code.push(format!("b.ne {out}"));
    }
    let store = code.lines.len();
    code.set(status, format!("st{release}xp w{status}, {width}{}, {width}{}, [x{base}]", new[0], new[1]));
    code.push(format!("cbnz w{status}, {start}"));
    let operands = [expected[0], expected[1], new[0], new[1]];
    let given = operands.iter().enumerate().map(|(number, &register)| (register, Given::Operand(number)));
    let given = [(base, Given::Base)].into_iter().chain(given).collect();
    let size = if width == 'x' { 16 } else { 8 };
    let (out, store, status) = (Some(out), Some(store), Some(status));
    Site { kind: Kind::Pair, size, code, base, given, narrow: None, out, store, status, old: None }
}

/// A call of, or a jump to, a helper of libgcc.
fn helper(pen: &mut Pen, kind: Kind) -> Site {
    let size = pen.pick(&[1, 2, 4, 8]);
    let order = pen.pick(&["relax", "acq", "rel", "acq_rel"]);
    let operation = pen.pick(&["cas", "swp", "ldadd", "ldclr", "ldeor", "ldset"]);
    let base = if operation == "cas" { 2 } else { 1 };
    for register in [0, 1, 2, 13, 14, 15, 16, 17] {
        pen.take(register);
    }
    let mut given = vec![(base, Given::Base), (0, Given::Operand(0))];
    if operation == "cas" {
        given.push((1, Given::Operand(2)));
    }
    let mut code = Code::default();
    let call = if kind == Kind::HelperTail { "b" } else { "bl" };
    code.set(0, format!("{call} __aarch64_{operation}{size}_{order}"));
    // What the helper's own loop may overwrite, where the CPU has no better.
    code.writes |= 0x1f << 13;
    Site { kind, size, code, base, given, narrow: None, out: None, store: None, status: None, old: None }
}

/// A function with a helper's shape, with a flag, a name or another path of its own, and a call of it.
fn impostor(pen: &mut Pen) -> Site {
    for register in [0, 1, 13, 14, 15, 16, 17] {
        pen.take(register);
    }
    let name = pen.pick(&["counter_add", "__aarch64_ldadd4_acq_rel", "__aarch64_swp4_relax"]);
    let (name, flag) = (pen.name(name), pen.name("enabled"));
    let [route, again] = [pen.label(), pen.label()];
    let way = pen.pick(&["add w17, w0, w16, lsl #1", "sub w17, w0, w16", "add w17, w0, w16"]);
    let lasts = pen.pick(&["mov w0, #77", "add w0, w0, #1", "mov w0, w0"]);
    let flagged = if pen.chance(50) { "strb" } else { "strh" };
    pen.other += &format!(
        "\t.type {name}, %function\n{name}:\tadrp x16, {flag}\n\tldrb w16, [x16, :lo12:{flag}]\n\tcbz w16, {route}\n\
         \tldaddal w0, w0, [x1]\n\tret\n{route}:\tmov w16, w0\n{again}:\tldaxr w0, [x1]\n\t{way}\n\
         \tstlxr w15, w17, [x1]\n\tcbnz w15, {again}\n\t{lasts}\n\tret\n\t.size {name}, . - {name}\n\
         \t.bss\n\t.balign 8\n{flag}:\t.skip 8\n\t.text\n"
    );
    // The flag is one of the program's, that its input sets.
    let mut code = Code::default();
    let area = pen.area;
    code.set(16, format!("ldr w16, [x{area}, #{}]", OPERANDS + 32));
    code.set(16, "ubfx w16, w16, #1, #1");
    code.set(17, format!("adrp x17, {flag}"));
    code.push(format!("{flagged} w16, [x17, :lo12:{flag}]"));
    code.set(0, format!("bl {name}"));
    code.writes |= 0x1f << 13;
    let given = vec![(1, Given::Base), (0, Given::Operand(0))];
    let (narrow, out, store, status) = (None, None, None, None);
    Site { kind: Kind::Impostor, size: 4, code, base: 1, given, narrow, out, store, status, old: None }
}

/// An atomic instruction with a barrier after it.
fn barrier(pen: &mut Pen) -> Site {
    let [base, operand, old] = [(); 3].map(|()| pen.register());
    let operation = pen.pick(&["ldadd", "swp", "ldset", "ldeor"]);
    let width = pen.pick(&['w', 'x']);
    let mut code = Code::default();
    code.set(old, format!("{operation}al {width}{operand}, {width}{old}, [x{base}]"));
    code.push("dmb ish");
    let given = vec![(base, Given::Base), (operand, Given::Operand(0))];
    let size = if width == 'x' { 8 } else { 4 };
    let (narrow, out, store, status) = (None, None, None, None);
    Site { kind: Kind::Barrier, size, code, base, given, narrow, out, store, status, old: None }
}

//! Sites: every shape of a load-exclusive/store-exclusive sequence that has a replacement, in every order.
//!
//! Each is written down as compilers write it, by this file's own encodings (Arm ARM, C4.1). The location is at x2; the
//! registers x19 to x28 belong to the surroundings.

/// Bits of an order: what the load-exclusive and the store-exclusive have.
pub(super) const ACQUIRE: u32 = 2;
pub(super) const RELEASE: u32 = 1;
pub(super) const ORDERS: [(&str, u32); 4] =
    [("relaxed", 0), ("acquire", ACQUIRE), ("release", RELEASE), ("acquire and release", ACQUIRE | RELEASE)];

const BASE: u32 = 2;
/// What memory held, what is combined or compared with it, what is stored, and the status.
const OLD: u32 = 8;
const OPERAND: u32 = 4;
const NEW: u32 = 6;
const STATUS: u32 = 10;

/// What becomes of a comparison that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Exit {
    /// Goes on after the sequence, as success does.
    Joins,
    /// Skips what follows.
    Skips,
}

/// A shape without its order.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// 0 to 3: 1 to 8 bytes; 4: two of 8.
    pub(super) size: u32,
    body: Body,
    /// What is expected of memory, where it is compared.
    pub(super) expected: u64,
}

#[derive(Debug, Clone)]
enum Body {
    /// Instructions between the exclusives; stored is NEW.
    Update(Vec<u32>),
    /// The same, and what was loaded is stored.
    StoredBack,
    /// `ldxr wzr`
    Unused,
    /// Instructions up to a branch, the branch to the exit, and those after it.
    Compare(Vec<u32>, u32, Vec<u32>, End),
    /// `clrex` on the path that leaves.
    Cleared,
    Rotated,
    /// With the second registers of what is loaded and of what is stored.
    Pair(Vec<u32>, u32, End, [u32; 2]),
}

/// What tests the status.
#[derive(Debug, Clone, Copy)]
enum End {
    /// `cbnz` back
    Again,
    /// `cmp status, #0`
    Flags,
    /// `cbnz` to the exit
    Gives,
    /// `cbz` on, `b` back: gcc 7
    Over,
}

/// A site at the instruction where it begins.
#[derive(Debug, Clone)]
pub(super) struct Sequence {
    pub(super) words: Vec<u32>,
    /// The register with what memory held; none where nobody wants it.
    pub(super) old: Option<u32>,
    /// The registers to which a dependency on what is stored may lead.
    pub(super) operand: u32,
}

/// A branch's word with its distance in instructions.
pub(super) fn to(word: u32, distance: i32) -> u32 {
    match word & 0xfc00_0000 == 0x1400_0000 {
        true => word & 0xfc00_0000 | distance as u32 & 0x3ff_ffff,
        false => word & !(0x7_ffff << 5) | (distance as u32 & 0x7_ffff) << 5,
    }
}

/// The second registers of pairs that need no move.
const OWN: [u32; 2] = [OLD + 1, NEW + 1];
const CBNZ: u32 = 0x3500_0000;
const CBZ: u32 = 0x3400_0000;
const B: u32 = 0x1400_0000;
const B_NE: u32 = 0x5400_0001;
const B_EQ: u32 = 0x5400_0000;

impl Shape {
    /// The instructions of a sequence in an order, its exit so many instructions after its end.
    pub(super) fn sequence(&self, order: u32, exit: i32) -> Sequence {
        let (acquire, release) = ((order & ACQUIRE) << 14, (order & RELEASE) << 15);
        let size = self.size.min(3);
        let load = 0x085f_7c00 | size << 30 | acquire | BASE << 5;
        let store = |register: u32| 0x0800_7c00 | size << 30 | release | STATUS << 16 | BASE << 5 | register;
        let (old, operand) = (Some(OLD), OPERAND);
        match &self.body {
            Body::Update(body) => {
                let words = looped(&[&[load | OLD], &body[..], &[store(NEW)]].concat(), End::Again, exit);
                Sequence { words, old, operand: if body.is_empty() { NEW } else { operand } }
            }
            Body::StoredBack => {
                Sequence { words: looped(&[load | OLD, store(OLD)], End::Again, exit), old, operand }
            }
            Body::Unused => Sequence {
                words: looped(&[load | 31, store(NEW)], End::Again, exit),
                old: None,
                operand: NEW,
            },
            Body::Compare(before, branch, after, end) => {
                let words = [&[load | OLD], &before[..], &[*branch], &after[..], &[store(NEW)]].concat();
                Sequence { words: left(looped(&words, *end, exit), before.len() + 1, exit), old, operand }
            }
            Body::Cleared => {
                // cbz old, #12; clrex; b exit; store; cbnz back
                let words =
                    vec![load | OLD, to(CBZ | OLD, 3), 0xd503_3f5f, B, store(NEW), to(CBNZ | STATUS, -5)];
                Sequence { words: left(words, 3, exit), old, operand: NEW }
            }
            Body::Rotated => {
                // b #12; store; cbz on; load; cmp; b.eq #-16
                let compare = 0x6b00_001f | OPERAND << 16 | OLD << 5;
                let words =
                    vec![to(B, 3), store(NEW), to(CBZ | STATUS, 4), load | OLD, compare, to(B_EQ, -4)];
                Sequence { words, old, operand }
            }
            Body::Pair(before, branch, end, [high, stored]) => {
                let load = 0xc87f_0000 | acquire | high << 10 | BASE << 5 | OLD;
                let store = 0xc820_0000 | release | STATUS << 16 | stored << 10 | BASE << 5 | NEW;
                let words = [&[load], &before[..], &[*branch], &[store]].concat();
                Sequence { words: left(looped(&words, *end, exit), before.len() + 1, exit), old, operand }
            }
        }
    }

    /// Registers with values other than 1.
    pub(super) fn registers(&self) -> Vec<(u32, u64)> {
        let operand = match self.body {
            Body::Update(_) => 2,
            _ => self.expected,
        };
        vec![(OPERAND, operand), (OPERAND + 1, 0), (NEW, 7), (NEW + 1, 0), (12, 0)]
    }

    /// What makes registers dead after the sequence, where a replacement needs some.
    pub(super) fn spare(&self) -> &'static [u32] {
        match self.body {
            // mov x7, #0; mov x12, #0; mov x13, #0
            Body::Pair(.., registers) if registers != OWN => &[0xd280_0007, 0xd280_000c, 0xd280_000d],
            _ => &[],
        }
    }

    /// Whether it may leave without storing.
    pub(super) fn has_exit(&self) -> bool {
        matches!(self.body, Body::Compare(..) | Body::Cleared | Body::Rotated | Body::Pair(..))
    }
}

/// The exclusives, and what tests the status.
fn looped(words: &[u32], end: End, exit: i32) -> Vec<u32> {
    let (mut words, back) = (words.to_vec(), words.len() as i32);
    match end {
        End::Again => words.push(to(CBNZ | STATUS, -back)),
        End::Flags => words.push(0x7100_001f | STATUS << 5),
        End::Gives => words.push(to(CBNZ | STATUS, exit + 1)),
        End::Over => words.extend([to(CBZ | STATUS, 2), to(B, -back - 1)]),
    }
    words
}

/// With the branch at an index to the exit.
fn left(mut words: Vec<u32>, at: usize, exit: i32) -> Vec<u32> {
    words[at] = to(words[at], (words.len() - at) as i32 + exit);
    words
}

/// Every shape.
pub(super) fn shapes() -> Vec<Shape> {
    let mut all = updates();
    all.extend(compares());
    all.extend(pairs());
    all
}

fn updates() -> Vec<Shape> {
    let three = |word: u32| vec![word | OPERAND << 16 | OLD << 5 | NEW];
    let constant = |word: u32| vec![word | OLD << 5 | NEW];
    let chosen = |condition: u32| {
        let compare = 0x6b00_001f | OPERAND << 16 | OLD << 5; // cmp
        vec![compare, 0x1a80_0000 | OPERAND << 16 | condition << 12 | OLD << 5 | NEW] // csel
    };
    let bit = vec![0x1ac0_2000 | 4 << 16 | 11 << 5 | 12, 0x2a00_0000 | 12 << 16 | OLD << 5 | NEW]; // lslv; orr
    // and; mvn
    let nand = vec![0x0a00_0000 | OPERAND << 16 | OLD << 5 | NEW, 0x2a20_03e0 | NEW << 16 | NEW];
    let update = |name, size, body| Shape { name, size, body: Body::Update(body), expected: 0 };
    vec![
        update("swap", 2, Vec::new()),
        update("swap of bytes", 0, Vec::new()),
        Shape { name: "swap, the old value unused", size: 2, body: Body::Unused, expected: 0 },
        Shape { name: "what was loaded stored back", size: 2, body: Body::StoredBack, expected: 0 },
        update("add", 2, three(0x0b00_0000)),
        update("add, 8 bytes", 3, three(0x8b00_0000)),
        update("add, 2 bytes", 1, three(0x0b00_0000)),
        update("add, 1 byte", 0, three(0x0b00_0000)),
        update("add with flags", 2, three(0x2b00_0000)),
        update("add of a shifted operand", 2, three(0x0b00_0400)),
        update("increment", 2, constant(0x1100_0400)),
        update("sub", 2, three(0x4b00_0000)),
        update("and", 2, three(0x0a00_0000)),
        update("and with a constant", 2, constant(0x1200_0400)),
        update("clear", 2, three(0x0a20_0000)),
        update("or", 2, three(0x2a00_0000)),
        update("or with a constant", 2, constant(0x3200_0000)),
        update("or with the complement", 2, three(0x2a20_0000)),
        update("xor", 2, three(0x4a00_0000)),
        update("xor with the complement", 2, three(0x4a20_0000)),
        update("not", 2, vec![0x2a20_03e0 | OLD << 16 | NEW]),
        update("set a bit by its number", 2, bit),
        update("signed maximum", 2, chosen(0xc)),
        update("signed minimum", 2, chosen(0xb)),
        update("unsigned maximum", 2, chosen(0x8)),
        update("unsigned minimum", 2, chosen(0x3)),
        update("nand, tried again", 2, nand),
    ]
}

fn compares() -> Vec<Shape> {
    let compare = |wide: u32| vec![0x6b00_001f | wide << 31 | OPERAND << 16 | OLD << 5];
    let shape = |name, size, body, expected| Shape { name, size, body, expected };
    let strong = |size: u32| Body::Compare(compare(u32::from(size == 3)), B_NE, Vec::new(), End::Again);
    let with_end = |end| Body::Compare(compare(0), B_NE, Vec::new(), end);
    let five = vec![0x7100_001f | 5 << 10 | OLD << 5]; // cmp old, #5
    let made = vec![0x5280_0000 | 1 << 5 | NEW]; // mov new, #1
    vec![
        shape("compare-and-swap", 2, strong(2), 0),
        shape("compare-and-swap, 8 bytes", 3, strong(3), 0),
        shape("compare-and-swap of what the other stores", 2, strong(2), 5),
        shape(
            "compare-and-swap from zero",
            2,
            Body::Compare(Vec::new(), CBNZ | OLD, Vec::new(), End::Again),
            0,
        ),
        shape("compare-and-swap from five", 2, Body::Compare(five, B_NE, Vec::new(), End::Again), 5),
        shape("compare-and-swap, gcc 7", 2, with_end(End::Over), 0),
        shape("weak compare-and-swap, flags", 2, with_end(End::Flags), 0),
        shape("weak compare-and-swap, branch", 2, with_end(End::Gives), 0),
        shape(
            "compare-and-swap, the new value made between",
            2,
            Body::Compare(Vec::new(), CBNZ | OLD, made, End::Again),
            0,
        ),
        shape("compare-and-swap, the monitor cleared", 2, Body::Cleared, 0),
        shape("compare-and-swap, rotated", 2, Body::Rotated, 0),
    ]
}

fn pairs() -> Vec<Shape> {
    let compare = |operand: u32, old: u32| 0xeb00_001f | operand << 16 | old << 5;
    let low = compare(OPERAND, OLD);
    let high = compare(OPERAND + 1, OLD + 1);
    let exclusive_or = |half: u32, to: u32| 0xca00_0000 | (OPERAND + half) << 16 | (OLD + half) << 5 | to;
    // cset status, ne; cinc status, status, ne
    let flag = vec![low, 0x1a9f_07e0 | STATUS, high, 0x1a80_0400 | STATUS << 16 | STATUS << 5 | STATUS];
    let joined = vec![exclusive_or(1, 11), exclusive_or(0, STATUS), 0xaa0b_0000 | STATUS << 5 | STATUS];
    // ccmp high, #0, eq
    let both = |high: u32| vec![low, 0xfa40_0000 | (OPERAND + 1) << 16 | high << 5];
    let zero = vec![0xaa00_0000 | (OLD + 1) << 16 | OLD << 5 | STATUS];
    let shape = |name, body| Shape { name, size: 4, body, expected: 0 };
    let wide = 1 << 31;
    // Without room for the branch; a `nop` between stays where it is.
    let apart = |between: u32, end: End, registers: [u32; 2]| {
        let between = vec![0xd503_201f; between as usize];
        Body::Pair([both(registers[0]), between].concat(), B_NE, end, registers)
    };
    vec![
        shape("pair, a flag of both", Body::Pair(flag, CBNZ | STATUS, End::Again, OWN)),
        shape("pair, the differences joined", Body::Pair(joined, CBNZ | wide | STATUS, End::Again, OWN)),
        shape(
            "pair, the second compared if the first is equal",
            Body::Pair(both(OLD + 1), B_NE, End::Again, OWN),
        ),
        shape("pair, gcc 7", Body::Pair(both(OLD + 1), B_NE, End::Over, OWN)),
        shape("pair from zero", Body::Pair(zero, CBNZ | wide | STATUS, End::Again, OWN)),
        shape("pair, what is stored is moved", apart(0, End::Again, [OLD + 1, 12])),
        Shape {
            expected: 5,
            ..shape(
                "pair, what is stored is moved, of what the other stores",
                apart(0, End::Again, [OLD + 1, 12]),
            )
        },
        shape("pair, what is stored is moved, gcc 7", apart(0, End::Over, [OLD + 1, 12])),
        shape("pair, what is stored is moved, longer", apart(1, End::Again, [OLD + 1, 12])),
        shape("pair, what is loaded is moved, longer", apart(2, End::Again, [13, NEW + 1])),
    ]
}

//! What reads a register after a site: by plain instructions, by operands that a decoder's tables may miss, by system calls
//! and by other functions.
//!
//! In: a register that holds what the site must not change. Out: what it must hold, and instructions after which another
//! register depends on it.

use super::Around;
use super::pen::{Code, OPERANDS, Pen, SCRATCH};

/// What a watched register holds before the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// Anything: what was there.
    Any,
    /// An index of 8 bytes into the program's memory, or of bytes.
    Index,
    /// An address in the program's memory, so many bytes from its start.
    Address(usize),
    /// This number.
    Number(u64),
}

/// A register that is read after the site, and how.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub(super) value: Value,
    lines: String,
    /// What the instructions overwrite.
    writes: u32,
    pub(super) around: Around,
}

/// Plain uses of x`{r}`, into x`{t}`.
const PLAIN: &[&str] = &[
    "mov x{t}, x{r}",
    "add x{t}, x{t}, x{r}, lsl #1",
    "madd x{t}, x{r}, x{t}, x{r}",
    "msub x{t}, x{t}, x{t}, x{r}",
    "csel x{t}, x{r}, x{t}, hi",
    "csinc x{t}, x{t}, x{r}, lt",
    "extr x{t}, x{r}, x{t}, #7",
    "bfi x{t}, x{r}, #8, #16",
    "smulh x{t}, x{r}, x{t}",
    "crc32cx w{t}, w{t}, x{r}",
    "rbit x{t}, x{r}",
    "adcs x{t}, x{t}, x{r}",
    "cmp x{t}, x{r}\ncset x{t}, lo",
    "ccmp x{t}, x{r}, #2, ne\ncset x{t}, hs",
    "movk x{r}, #0x1234, lsl #16\nmov x{t}, x{r}",
    "cbz x{r}, 1f\nmov x{t}, #9\n1:",
    "tbnz w{r}, #3, 1f\nmov x{t}, #9\n1:",
    "udiv x{t}, x{t}, x{r}",
    "subp x{t}, x{r}, x{t}",
    "gmi x{t}, x{r}, xzr",
];

/// Uses as an operand of what is no plain arithmetic.
const OPERAND: &[&str] = &[
    "str x{r}, [x{a}, #{s}]\nldr x{t}, [x{a}, #{s}]",
    "stp x{t}, x{r}, [x{a}, #{s}]\nldr x{t}, [x{a}, #{s} + 8]",
    "stp x{r}, x{t}, [x{a}, #{s}]\nldr x{t}, [x{a}, #{s}]",
    "stnp x{t}, x{r}, [x{a}, #{s}]\nldr x{t}, [x{a}, #{s} + 8]",
    "sturh w{r}, [x{a}, #200]\nldr x{t}, [x{a}, #200]",
    "add x{u}, x{a}, #{s}\nstlr x{r}, [x{u}]\nldr x{t}, [x{u}]",
    "add x{u}, x{a}, #{s}\nldadd x{r}, x{t}, [x{u}]\nldr x{t}, [x{u}]",
    "add x{u}, x{a}, #{s}\nswp x{r}, x{t}, [x{u}]\nldr x{t}, [x{u}]",
    "add x{u}, x{a}, #{s}\nstclr x{r}, [x{u}]\nldr x{t}, [x{u}]",
    "add x{u}, x{a}, #{s}\nldr x{t}, [x{u}]\ncas x{t}, x{r}, [x{u}]\nldr x{t}, [x{u}]",
    "add x{u}, x{a}, #{s}\nmov x{t}, x{r}\nstr x{t}, [x{u}]\nldr x{t}, [x{a}, #64]\ncas x{r}, x{t}, [x{u}]\nldr x{t}, [x{u}]",
    "fmov d16, x{r}\nfmov x{t}, d16",
    "fmov v16.d[1], x{r}\nfmov x{t}, v16.d[1]",
    "dup v16.2d, x{r}\numov x{t}, v16.d[1]",
    "ins v16.d[0], x{r}\numov x{t}, v16.d[0]",
    "ins v16.b[3], w{r}\numov w{t}, v16.b[3]",
    "scvtf d16, x{r}\nfmov x{t}, d16",
    "ucvtf d16, x{r}, #3\nfmov x{t}, d16",
    "msr nzcv, x{r}\nmrs x{t}, nzcv",
    "mrs x{u}, tpidr_el0\nmsr tpidr_el0, x{r}\nmrs x{t}, tpidr_el0\nmsr tpidr_el0, x{u}",
    "rmif x{r}, #5, #15\nmrs x{t}, nzcv",
    "setf16 w{r}\nmrs x{t}, nzcv",
];

/// Uses by SVE's instructions.
const SCALABLE: &[&str] = &[
    "mov z16.d, x{r}\nfmov x{t}, d16",
    "index z16.d, x{r}, #1\nfmov x{t}, d16",
    "index z16.d, #1, x{r}\numov x{t}, v16.d[1]",
    "mov z16.d, #0\nptrue p0.d, vl1\nmov z16.d, p0/m, x{r}\nfmov x{t}, d16",
    "mov z16.d, #0\ninsr z16.d, x{r}\nfmov x{t}, d16",
    "whilelo p1.d, xzr, x{r}\nptrue p0.d\ncntp x{t}, p0, p1.d",
    "whilelt p1.d, x{r}, xzr\nptrue p0.d\ncntp x{t}, p0, p1.d",
    "ctermeq x{r}, x{t}\ncset x{t}, lt",
    "mov x{t}, x{r}\nincd x{t}",
    "addvl x{t}, x{r}, #1",
    "addpl x{t}, x{r}, #1",
    "mov z16.d, #3\nptrue p0.d, vl1\nclastb x{r}, p0, x{r}, z16.d\nmov x{t}, x{r}",
    "pfalse p0.b\nmov z16.d, #3\nclasta x{r}, p0, x{r}, z16.d\nmov x{t}, x{r}",
    "ptrue p0.d, vl2\nmov x{t}, x{r}\nuqincp x{t}, p0.d",
];

/// Uses as an index of 8 bytes.
const INDEX: &[&str] = &[
    "ldr x{t}, [x{a}, x{r}, lsl #3]",
    "ldr w{t}, [x{a}, w{r}, uxtw #2]",
    "ldrsb x{t}, [x{a}, w{r}, sxtw]",
    "ldr d16, [x{a}, x{r}, lsl #3]\nfmov x{t}, d16",
    "ldr q16, [x{a}, x{r}, lsl #4]\nfmov x{t}, d16",
    "ldr x{t}, [x{a}, #128]\nstr x{t}, [x{a}, x{r}, lsl #3]",
    "movi v16.2d, #0\nstr q16, [x{a}, x{r}]",
    "mov x{t}, x{a}\nld1 {v16.16b}, [x{t}], x{r}\nsub x{t}, x{t}, x{a}",
    "mov x{t}, x{a}\nld1r {v16.8b}, [x{t}], x{r}\nsub x{t}, x{t}, x{a}",
    "mov x{t}, x{a}\nld4 {v16.b, v17.b, v18.b, v19.b}[2], [x{t}], x{r}\nsub x{t}, x{t}, x{a}",
    "movi v16.2d, #0\nadd x{t}, x{a}, #{s}\nst1 {v16.8b}, [x{t}], x{r}\nsub x{t}, x{t}, x{a}",
];

/// Uses as an index by SVE's instructions.
const SCALABLE_INDEX: &[&str] = &[
    "ptrue p0.d, vl1\nld1d z16.d, p0/z, [x{a}, x{r}, lsl #3]\nfmov x{t}, d16",
    "ptrue p0.d, vl1\nld1b z16.d, p0/z, [x{a}, x{r}]\nfmov x{t}, d16",
    "ptrue p0.d, vl1\nld1sw z16.d, p0/z, [x{a}, x{r}, lsl #2]\nfmov x{t}, d16",
    "ptrue p0.d, vl1\nldff1d z16.d, p0/z, [x{a}, x{r}, lsl #3]\nfmov x{t}, d16",
    "ptrue p0.d, vl1\nldnt1d z16.d, p0/z, [x{a}, x{r}, lsl #3]\nfmov x{t}, d16",
    "ptrue p0.d, vl2\nld1rqd z16.d, p0/z, [x{a}, x{r}, lsl #3]\nfmov x{t}, d16",
    "ptrue p0.d, vl1\nld2d {z16.d, z17.d}, p0/z, [x{a}, x{r}, lsl #3]\nfmov x{t}, d17",
    "mov z16.d, #1\nptrue p0.d, vl1\nst1d z16.d, p0, [x{a}, x{r}, lsl #3]",
    "mov z16.d, #1\nptrue p0.d, vl1\nst1b z16.d, p0, [x{a}, x{r}]",
    "mov z16.d, #1\nptrue p0.d, vl1\nstnt1d z16.d, p0, [x{a}, x{r}, lsl #3]",
];

/// Uses as an address.
const ADDRESS: &[&str] = &[
    "ldr x{t}, [x{r}, #8]",
    "ldp x{u}, x{t}, [x{r}]",
    "ldr x{t}, [x{r}], #16",
    "ldapr x{t}, [x{r}]",
    "ldaxr x{t}, [x{r}]\nclrex",
    "ldadd xzr, x{t}, [x{r}]",
    "ld1 {v16.2d, v17.2d}, [x{r}]\nfmov x{t}, d17",
    "ld1r {v16.2d}, [x{r}]\nfmov x{t}, d16",
    "ldnp q16, q17, [x{r}]\nfmov x{t}, d17",
    "str xzr, [x{r}, #8]",
    "movi v16.2d, #0\nst1 {v16.d}[1], [x{r}]",
    "dc zva, x{r}",
    "ptrue p0.d, vl1\nld1d z16.d, p0/z, [x{r}, #0, mul vl]\nfmov x{t}, d16",
    "ptrue p0.d, vl1\nld1rd z16.d, p0/z, [x{r}, #8]\nfmov x{t}, d16",
    "mov z17.d, #8\nptrue p0.d, vl1\nld1d z16.d, p0/z, [x{r}, z17.d]\nfmov x{t}, d16",
];

/// System calls: the register, its value, and what makes the call; the result is in x0. Linux's numbers for this architecture.
const SYSTEM_CALLS: &[(u8, Value, &str)] = &[
    // mmap of a page without access: the offset counts
    (
        5,
        Value::Number(0x1000),
        "mov x0, #0\nmov x1, #4096\nmov x2, #0\nmov x3, #0x22\nmov x4, #-1\nmov x8, #222",
    ),
    // rt_sigprocmask, which stores the mask: the size counts, and where
    (3, Value::Number(8), "mov x0, #0\nmov x1, #0\nadd x2, x{a}, #{s}\nmov x8, #135"),
    (2, Value::Address(SCRATCH), "mov x0, #0\nmov x1, #0\nmov x3, #8\nmov x8, #135"),
    // clock_getres, which stores it
    (1, Value::Address(SCRATCH), "mov x0, #1\nmov x8, #114"),
    (0, Value::Number(1), "add x1, x{a}, #{s}\nmov x8, #114"),
    (8, Value::Number(114), "mov x0, #1\nadd x1, x{a}, #{s}"),
    // madvise of nothing: the advice counts
    (2, Value::Number(4), "mov x0, #0\nmov x1, #0\nmov x8, #233"),
    // dup3 of what is no file: the flags count
    (2, Value::Number(0x80000), "mov x0, #99\nmov x1, #98\nmov x8, #24"),
];

/// The registers that those write.
const OF_CALLS: u32 = 0x13f;

fn filled(template: &str, names: &[(&str, u64)]) -> String {
    names.iter().fold(template.to_owned(), |text, (name, number)| text.replace(name, &number.to_string()))
}

impl Reader {
    /// A reader of each of some registers.
    pub(super) fn of_all(pen: &mut Pen, registers: &[u8]) -> Vec<(u8, Reader)> {
        let all = registers.iter().fold(0, |all, register| all | 1 << register);
        registers.iter().map(|&register| (register, Reader::draw(pen, register, all))).collect()
    }

    /// A reader of one of some registers, which it leaves to the others' readers.
    fn draw(pen: &mut Pen, register: u8, all: u32) -> Reader {
        let is_alone = all & OF_CALLS & !(1 << register) == 0;
        let of_calls: Vec<_> = SYSTEM_CALLS.iter().filter(|call| call.0 == register && is_alone).collect();
        if !of_calls.is_empty() && pen.chance(60) {
            let &&(_, value, lines) = of_calls.get(pen.below(of_calls.len())).expect("not empty");
            return Reader::system_call(pen, value, lines);
        }
        let kinds: [(&[&str], Value, Around); 6] = [
            (PLAIN, Value::Any, Around::PlainReader),
            (OPERAND, Value::Any, Around::OperandReader),
            (SCALABLE, Value::Any, Around::ScalableReader),
            (INDEX, Value::Index, Around::IndexReader),
            (SCALABLE_INDEX, Value::Index, Around::ScalableReader),
            (ADDRESS, Value::Address(192), Around::AddressReader),
        ];
        let (templates, value, around) = pen.pick(&kinds);
        let template = pen.pick(templates);
        let [to, other] = [pen.register(), pen.register()];
        let names = [
            ("{r}", u64::from(register)),
            ("{t}", u64::from(to)),
            ("{u}", u64::from(other)),
            ("{a}", u64::from(pen.area)),
            ("{s}", SCRATCH as u64),
        ];
        let mut lines = filled(template, &names);
        let slot = pen.slot();
        lines += &format!("\nstr x{to}, [x{}, #{slot}]", pen.area);
        // What is loaded into first must depend on nothing but the program.
        lines = format!("ldr x{to}, [x{}, #{}]\n{lines}", pen.area, OPERANDS + 56);
        for register in [to, other] {
            pen.release(register);
        }
        Reader { value, lines, writes: 1 << to | 1 << other | 1 << register, around }
    }

    fn system_call(pen: &mut Pen, value: Value, lines: &str) -> Reader {
        let names = [("{a}", u64::from(pen.area)), ("{s}", SCRATCH as u64)];
        let slot = pen.slot();
        // Of an address only that it is one.
        let shown = format!("cmn x0, #4095\ncsinv x0, x0, xzr, hs\nstr x0, [x{}, #{slot}]", pen.area);
        let lines = format!("{}\nsvc #0\n{shown}", filled(lines, &names));
        Reader { value, lines, writes: OF_CALLS, around: Around::SystemCall }
    }

    /// Gives the register what it must hold.
    pub(super) fn prepare(&self, pen: &mut Pen, register: u8, code: &mut Code) {
        let area = pen.area;
        match self.value {
            Value::Any if pen.chance(50) => {}
            Value::Any => code.set(register, format!("mov x{register}, #{}", 0x100 + pen.below(0xf000))),
            Value::Index => code.set(register, format!("mov x{register}, #{}", 16 + 2 * pen.below(16))),
            Value::Address(offset) => code.set(register, format!("add x{register}, x{area}, #{offset}")),
            Value::Number(number) => code.set(register, format!("mov x{register}, #{number}")),
        }
    }

    /// The instructions.
    pub(super) fn read(&self, pen: &mut Pen, code: &mut Code) {
        pen.around.insert(self.around);
        let on = pen.label();
        for line in self.lines.lines() {
            code.push(line.replace("1f", &on).replace("1:", &format!("{on}:")));
        }
        code.writes |= self.writes;
    }
}

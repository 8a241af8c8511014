//! What enters a site from elsewhere: by a branch, by tables of every width, by addresses in instructions and in data.
//!
//! In: a label inside of the site, or one that nothing is wrong with: the site's start, or a function of its own. Out: instructions
//! that go there, by an address that a rewriter has to find.

use super::Around;
use super::class::{Class, Form};
use super::pen::{Code, Linking, Pen, ROUTE};

/// How the address is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Branch,
    Adr,
    Page,
    /// From the start of the function, by addition.
    Sum,
    /// From what comes after it, by subtraction.
    Difference,
    /// From an aligned address, by setting a bit.
    BitsSet,
    /// With a move between the two halves.
    Moved,
    /// With an index that is known when it runs.
    Index,
    /// With such an index times the size of an instruction.
    Product,
    Table {
        bytes: usize,
        base: Base,
        scaled: bool,
    },
    /// Rust's `match`: 16 bits from the function's start, without a bound, next to other data.
    Unbounded,
    Pointer,
    PointerOffset,
    LiteralPool,
    Moves,
    MovesSum,
    ShortPointer,
}

/// What the entries of a table count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Nothing,
    Table,
    Label,
}

const ROUTES: [(Route, Class); 26] = [
    (Route::Branch, Class::Branch),
    (Route::Adr, Class::Adr),
    (Route::Page, Class::Page),
    (Route::Sum, Class::Sum),
    (Route::Difference, Class::Difference),
    (Route::BitsSet, Class::BitsSet),
    (Route::Moved, Class::Moved),
    (Route::Index, Class::Index),
    (Route::Product, Class::Product),
    (Route::Table { bytes: 8, base: Base::Nothing, scaled: false }, Class::Table64),
    (Route::Table { bytes: 4, base: Base::Table, scaled: false }, Class::Table32),
    (Route::Table { bytes: 4, base: Base::Label, scaled: false }, Class::Table32),
    (Route::Table { bytes: 4, base: Base::Label, scaled: true }, Class::Table32),
    (Route::Table { bytes: 2, base: Base::Label, scaled: false }, Class::Table16),
    (Route::Table { bytes: 2, base: Base::Label, scaled: true }, Class::Table16),
    (Route::Table { bytes: 1, base: Base::Label, scaled: true }, Class::Table8),
    (Route::Table { bytes: 1, base: Base::Label, scaled: true }, Class::Table8),
    (Route::Unbounded, Class::TableUnbounded),
    (Route::Pointer, Class::PointerAbsolute),
    (Route::Pointer, Class::PointerAbsolute),
    (Route::PointerOffset, Class::PointerOffset),
    (Route::LiteralPool, Class::LiteralPool),
    (Route::Moves, Class::MovedImmediates),
    (Route::MovesSum, Class::MovedImmediates),
    (Route::ShortPointer, Class::PointerShort),
    (Route::ShortPointer, Class::PointerShort),
];

impl Route {
    /// Whether pointers have to be known when the program is linked.
    fn is_fixed(self) -> bool {
        matches!(self, Route::LiteralPool | Route::Moves | Route::MovesSum | Route::ShortPointer)
    }

    /// Whether the function must be in the same section, and not far away.
    fn is_short(self) -> bool {
        match self {
            Route::Table { base, .. } => base == Base::Label,
            _ => matches!(self, Route::Adr | Route::Sum | Route::MovesSum),
        }
    }

    /// Whether it may lead to any instruction of the function.
    fn is_anywhere(self) -> bool {
        matches!(self, Route::BitsSet | Route::Index | Route::Product)
    }
}

/// The class of a pointer in data, which is one of a relocation where the file has an address of its own.
fn of_pointer(linking: Linking) -> Class {
    match linking {
        Linking::Fixed => Class::PointerAbsolute,
        Linking::Pie | Linking::Shared => Class::RelocationRela,
        Linking::Relr => Class::RelocationRelr,
        Linking::Rel => Class::RelocationRel,
        Linking::Android => Class::RelocationAndroid,
    }
}

/// Where control goes to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) to: &'a str,
    /// Where a table has a choice, sometimes this.
    pub(super) else_to: &'a str,
    /// Aligned to 8 bytes; the instruction after it is as good to enter as `to`, or the routes that need that are left out.
    pub(super) start: &'a str,
    pub(super) enters_second: bool,
    /// A label after all of them, not far away.
    pub(super) past: &'a str,
    /// The start of the function.
    pub(super) function: &'a str,
    /// Whether the place is in the same section, and not far away.
    pub(super) is_near: bool,
    /// Whether the function returns to what it has on the stack.
    pub(super) saves_link: bool,
}

/// What goes to a place.
pub(super) fn enter(pen: &mut Pen, code: &mut Code, target: Target, form: Form) {
    let fits = |route: Route| {
        (target.is_near || !route.is_short())
            && (pen.linking == Linking::Fixed || !route.is_fixed())
            && (target.enters_second || !route.is_anywhere())
    };
    let routes: Vec<_> = ROUTES.into_iter().filter(|(route, _)| fits(*route)).collect();
    let (route, class) = pen.pick(&routes);
    let class = match route {
        Route::Pointer => of_pointer(pen.linking),
        _ => class,
    };
    pen.meet(class, form);
    let register = pen.register();
    code.writes |= 1 << register;
    let jump = jump(pen, code, register, target.saves_link, form);
    match route {
        Route::Branch => {
            let branch = pen.pick(&["b", "b", "cbz xzr,", "cbz wzr,"]);
            code.push(format!("{branch} {}", target.to));
        }
        Route::Table { bytes, base, scaled } => {
            table(pen, code, register, [target.to, target.else_to], (bytes, base, scaled));
        }
        Route::Unbounded => unbounded(pen, code, register, target),
        Route::Pointer | Route::PointerOffset | Route::LiteralPool | Route::ShortPointer => {
            loaded(pen, code, register, (route, &jump), target);
        }
        _ => computed(pen, code, register, (route, &jump), target),
    }
    pen.release(register);
}

/// The jump to a register, which may be a return: `r` stands for the register, and the link register in its place.
fn jump(pen: &mut Pen, code: &mut Code, register: u8, saves_link: bool, form: Form) -> String {
    match pen.below(8) {
        0 | 1 if saves_link => {
            pen.meet(Class::ReturnComputed, form);
            code.writes |= 1 << 30;
            format!("mov x30, x{register}\nret")
        }
        2 => {
            pen.meet(Class::ReturnComputed, form);
            format!("ret x{register}")
        }
        _ => format!("br x{register}"),
    }
}

/// An address from instructions alone.
fn computed(pen: &mut Pen, code: &mut Code, register: u8, (route, jump): (Route, &str), target: Target) {
    let Target { to, start, past, function, .. } = target;
    let r = format!("x{register}");
    let page = |label: &str| format!("adrp {r}, {label}\nadd {r}, {r}, :lo12:{label}");
    match route {
        Route::Adr => code.push(format!("adr {r}, {to}\n{jump}")),
        Route::Page => code.push(format!("{}\n{jump}", page(to))),
        Route::Sum => code.push(format!("{}\nadd {r}, {r}, #({to} - {function})\n{jump}", page(function))),
        Route::Difference => code.push(format!("{}\nsub {r}, {r}, #({past} - {to})\n{jump}", page(past))),
        Route::BitsSet => code.push(format!("{}\norr {r}, {r}, #4\n{jump}", page(start))),
        Route::Moved => {
            let other = pen.register();
            code.set(
                other,
                format!("adrp x{other}, {to}\nmov {r}, x{other}\nadd {r}, {r}, :lo12:{to}\n{jump}"),
            );
            pen.release(other);
        }
        Route::Index | Route::Product => {
            let (index, size) = (pen.register(), pen.register());
            let (i, s, area, bit) = (format!("x{index}"), format!("x{size}"), pen.area, pen.below(8));
            code.set(index, format!("ldr {i}, [x{area}, #{ROUTE}]\nubfx {i}, {i}, #{bit}, #1"));
            code.push(page(start));
            let sum = match route {
                Route::Index => pen.pick(&[
                    format!("add {r}, {r}, {i}, lsl #2"),
                    format!("add {r}, {r}, w{index}, uxtw #2"),
                    format!("lsl {i}, {i}, #2\nadd {r}, {i}, {r}"),
                ]),
                _ => pen.pick(&[
                    format!("mul {i}, {i}, {s}\nadd {r}, {r}, {i}"),
                    format!("madd {r}, {i}, {s}, {r}"),
                ]),
            };
            code.set(size, format!("mov {s}, #4\n{sum}\n{jump}"));
            pen.release(index);
            pen.release(size);
        }
        Route::Moves => code.push(format!("movz {r}, #:abs_g1:{to}\nmovk {r}, #:abs_g0_nc:{to}\n{jump}")),
        _ => code.push(format!(
            "movz {r}, #:abs_g1:{function}\nmovk {r}, #:abs_g0_nc:{function}\nadd {r}, {r}, #({to} - {function})\n{jump}"
        )),
    }
}

/// An address that is in data, or a constant away from one that is.
fn loaded(pen: &mut Pen, code: &mut Code, register: u8, (route, jump): (Route, &str), target: Target) {
    let Target { to, past, function, .. } = target;
    let (r, pointer) = (format!("x{register}"), pen.label());
    let section = pen.pick(&[".data.rel.ro, \"aw\"", ".data, \"aw\""]);
    match route {
        Route::LiteralPool => code.push(format!("ldr {r}, ={to}\n{jump}\n.ltorg")),
        Route::ShortPointer => {
            let odd = pen.pick(&["", "\t.word 1\n"]);
            pen.other +=
                &format!("\t.section .rodata, \"a\"\n\t.balign 8\n{odd}{pointer}:\t.word {to}\n\t.text\n");
            code.push(format!("adrp {r}, {pointer}\nldr w{register}, [{r}, :lo12:{pointer}]\n{jump}"));
        }
        _ => {
            if route == Route::PointerOffset {
                pen.around.insert(Around::AddedToPointer);
            }
            let (what, then) = match route {
                Route::Pointer => (to, String::new()),
                _ if pen.chance(50) => (past, format!("sub {r}, {r}, #({past} - {to})\n")),
                _ => (function, format!("add {r}, {r}, #({to} - {function})\n")),
            };
            pen.other += &format!("\t.section {section}\n\t.balign 8\n{pointer}:\t.quad {what}\n\t.text\n");
            code.push(format!("adrp {r}, {pointer}\nldr {r}, [{r}, :lo12:{pointer}]\n{then}{jump}"));
        }
    }
}

/// A jump through a table without a bound, as Rust writes an exhaustive `match`, with other data right after it.
fn unbounded(pen: &mut Pen, code: &mut Code, register: u8, target: Target) {
    let Target { to, else_to, function, .. } = target;
    let (table, index, offset) = (pen.label(), pen.register(), pen.register());
    let (r, i, o, area) = (format!("x{register}"), format!("x{index}"), format!("x{offset}"), pen.area);
    let other = pen.pick(&["", "\t.hword 0xfff1, 0x7ff3\n", "\t.asciz \"other data\"\n"]);
    let entries = [to, else_to].map(|to| format!("({to} - {function}) / 4")).join(", ");
    let section = pen.pick(&[".rodata, \"a\"", ".rodata, \"a\"", ".data, \"aw\""]);
    pen.other += &format!(
        "\t.section {section}\n\t.balign 2\n{table}:\t.hword {entries}\n{other}\t.balign 8\n\t.text\n"
    );
    code.set(index, format!("ldr {i}, [x{area}, #{ROUTE}]\nubfx {i}, {i}, #{}, #1", pen.below(8)));
    code.push(format!("adrp {r}, {table}\nadd {r}, {r}, :lo12:{table}"));
    code.set(offset, format!("ldrh w{offset}, [{r}, {i}, lsl #1]"));
    code.push(format!(
        "adrp {r}, {function}\nadd {r}, {r}, :lo12:{function}\nadd {r}, {r}, {o}, lsl #2\nbr {r}"
    ));
    pen.release(index);
    pen.release(offset);
}

/// A jump through a table, as compilers write switches.
fn table(pen: &mut Pen, code: &mut Code, register: u8, [to, else_to]: [&str; 2], form: (usize, Base, bool)) {
    let (bytes, base, scaled) = form;
    let [table, label] = [pen.label(), pen.label()];
    let index = pen.register();
    let (r, i, area) = (format!("x{register}"), format!("x{index}"), pen.area);
    code.writes |= 1 << index;
    code.push(format!("ldr {i}, [x{area}, #{ROUTE}]\nubfx {i}, {i}, #{}, #1", pen.below(8)));
    if pen.chance(50) {
        code.push(format!("cmp {i}, #1\nb.hi {else_to}"));
    }
    // 1- and 2-byte entries in text need what follows to be aligned.
    let in_text = pen.chance(40);
    let entry = |to: &str| {
        let from = match base {
            Base::Nothing => String::new(),
            Base::Table => format!(" - {table}"),
            Base::Label => format!(" - {label}"),
        };
        if scaled { format!("({to}{from}) / 4") } else { format!("{to}{from}") }
    };
    let (directive, load, extend) = match bytes {
        1 => (".byte", format!("ldrb w{index}, [{r}, {i}]"), "sxtb"),
        2 => (".hword", format!("ldrh w{index}, [{r}, {i}, lsl #1]"), "sxth"),
        4 => (".word", format!("ldrsw {i}, [{r}, {i}, lsl #2]"), "sxtx"),
        _ => (".quad", format!("ldr {i}, [{r}, {i}, lsl #3]"), ""),
    };
    let entries = [to, else_to, to, else_to].map(entry).join(", ");
    let data = format!("\t.balign 8\n{table}:\t{directive} {entries}\n\t.balign 8\n");
    let in_text = in_text && base != Base::Nothing;
    code.push(match in_text {
        true => format!("adr {r}, {table}\n{load}"),
        false => format!("adrp {r}, {table}\nadd {r}, {r}, :lo12:{table}\n{load}"),
    });
    if base == Base::Label {
        code.push(format!("adr {r}, {label}"));
    }
    let shift = if scaled { " #2" } else { "" };
    let operand = if bytes > 2 { i.clone() } else { format!("w{index}") };
    match (bytes, scaled) {
        (8, _) => code.push(format!("br {i}")),
        (4, true) => code.push(format!("add {r}, {r}, {operand}, lsl #2\nbr {r}")),
        (4, false) => code.push(format!("add {r}, {r}, {operand}\nbr {r}")),
        _ => code.push(format!("add {r}, {r}, {operand}, {extend}{shift}\nbr {r}")),
    }
    if base == Base::Label {
        code.push(format!("{label}:"));
    }
    match in_text {
        true => {
            pen.around.insert(Around::TableInText);
            code.push(data);
        }
        false => {
            let section = match base {
                Base::Nothing => ".data.rel.ro, \"aw\"",
                _ if pen.chance(30) => {
                    pen.around.insert(Around::TableInData);
                    ".data, \"aw\""
                }
                _ => ".rodata, \"a\"",
            };
            pen.other += &format!("\t.section {section}\n{data}\t.text\n");
        }
    }
    pen.release(index);
}

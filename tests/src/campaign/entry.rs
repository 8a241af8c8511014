//! What enters a site from elsewhere: by a branch, by tables of every width, by addresses in instructions and in data.
//!
//! In: a label inside of the site. Out: instructions that go there, by an address that a rewriter has to find.

use super::Around;
use super::pen::{Code, Linking, Pen, ROUTE};

/// How the address is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Branch,
    Adr,
    Page,
    /// From the start of the function, by addition.
    Sum,
    Table {
        bytes: usize,
        base: Base,
        scaled: bool,
    },
    Pointer,
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

const ROUTES: [(Route, Around); 18] = [
    (Route::Branch, Around::EntryBranch),
    (Route::Adr, Around::EntryAdr),
    (Route::Page, Around::EntryPage),
    (Route::Sum, Around::EntrySum),
    (Route::Table { bytes: 8, base: Base::Nothing, scaled: false }, Around::EntryTable64),
    (Route::Table { bytes: 4, base: Base::Table, scaled: false }, Around::EntryTable32),
    (Route::Table { bytes: 4, base: Base::Label, scaled: false }, Around::EntryTable32),
    (Route::Table { bytes: 4, base: Base::Label, scaled: true }, Around::EntryTable32),
    (Route::Table { bytes: 2, base: Base::Label, scaled: false }, Around::EntryTable16),
    (Route::Table { bytes: 2, base: Base::Label, scaled: true }, Around::EntryTable16),
    (Route::Table { bytes: 1, base: Base::Label, scaled: true }, Around::EntryTable8),
    (Route::Table { bytes: 1, base: Base::Label, scaled: true }, Around::EntryTable8),
    (Route::Pointer, Around::EntryPointer),
    (Route::LiteralPool, Around::EntryLiteralPool),
    (Route::Moves, Around::EntryMoves),
    (Route::MovesSum, Around::EntryMoves),
    (Route::ShortPointer, Around::EntryShortPointer),
    (Route::ShortPointer, Around::EntryShortPointer),
];

impl Route {
    /// Whether pointers have to be known when the program is linked.
    fn is_fixed(self) -> bool {
        matches!(self, Route::LiteralPool | Route::Moves | Route::MovesSum | Route::ShortPointer)
    }
}

/// What goes to a place: `to`, and where a table has a choice sometimes `else_to`. `function`: where the site's function
/// starts. `is_near`: whether the place is in the same section, and not far away.
pub(super) fn enter(pen: &mut Pen, code: &mut Code, [to, else_to, function]: [&str; 3], is_near: bool) {
    let fits = |route: Route| {
        let is_short = match route {
            Route::Table { base, .. } => base == Base::Label,
            _ => matches!(route, Route::Adr | Route::Sum | Route::MovesSum),
        };
        is_near || !is_short
    };
    let routes: Vec<_> = ROUTES
        .into_iter()
        .filter(|(route, _)| fits(*route) && (pen.linking == Linking::Fixed || !route.is_fixed()))
        .collect();
    let (route, around) = pen.pick(&routes);
    pen.around.insert(around);
    let register = pen.register();
    let r = format!("x{register}");
    code.writes |= 1 << register;
    match route {
        Route::Branch => {
            let branch = pen.pick(&["b", "b", "cbz xzr,", "cbz wzr,"]);
            code.push(format!("{branch} {to}"));
        }
        Route::Adr => code.push(format!("adr {r}, {to}\nbr {r}")),
        Route::Page => code.push(format!("adrp {r}, {to}\nadd {r}, {r}, :lo12:{to}\nbr {r}")),
        Route::Sum => {
            code.push(format!("adrp {r}, {function}\nadd {r}, {r}, :lo12:{function}\nadd {r}, {r}, #({to} - {function})\nbr {r}"));
        }
        Route::Table { bytes, base, scaled } => table(pen, code, register, [to, else_to], (bytes, base, scaled)),
        Route::Pointer => {
            let pointer = pen.label();
            pen.other += &format!("\t.section .data.rel.ro, \"aw\"\n\t.balign 8\n{pointer}:\t.quad {to}\n\t.text\n");
            code.push(format!("adrp {r}, {pointer}\nldr {r}, [{r}, :lo12:{pointer}]\nbr {r}"));
        }
        Route::LiteralPool => code.push(format!("ldr {r}, ={to}\nbr {r}\n.ltorg")),
        Route::Moves => code.push(format!("movz {r}, #:abs_g1:{to}\nmovk {r}, #:abs_g0_nc:{to}\nbr {r}")),
        Route::MovesSum => code.push(format!(
            "movz {r}, #:abs_g1:{function}\nmovk {r}, #:abs_g0_nc:{function}\nadd {r}, {r}, #({to} - {function})\nbr {r}"
        )),
        Route::ShortPointer => {
            let pointer = pen.label();
            let odd = pen.pick(&["", "\t.word 1\n"]);
            pen.other += &format!("\t.section .rodata, \"a\"\n\t.balign 8\n{odd}{pointer}:\t.word {to}\n\t.text\n");
            code.push(format!("adrp {r}, {pointer}\nldr w{register}, [{r}, :lo12:{pointer}]\nbr {r}"));
        }
    }
    pen.release(register);
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
            pen.other += &format!(
                "\t.section {}\n{data}\t.text\n",
                match base {
                    Base::Nothing => ".data.rel.ro, \"aw\"",
                    _ => ".rodata, \"a\"",
                }
            )
        }
    }
    pen.release(index);
}

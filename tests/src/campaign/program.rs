//! One program of the campaign: a site, the function around it, what else enters that, and what calls it.
//!
//! In: a seed and a number. Out: assembly. The functions are, from the inside: the one with the site, `work`; one that may enter
//! it from elsewhere, `other`; at most one between, `between`; and the one that the harness calls by the procedure call
//! standard, `program`. All but the last have a convention of their own, as local functions have after `-fipa-ra` and as
//! assembly has: a register holds the address of the program's memory throughout, and what a function does not write it
//! keeps.

use super::callers;
use super::class::{Class, Form};
use super::dependency;
use super::entry::{self, Target};
use super::high_bits;
use super::pad;
use super::pen::{Code, LINKERS, Linking, OPERANDS, Pen};
use super::range;
use super::reader::Reader;
use super::saved;
use super::site::{self, Given, Kind, Site};
use super::{Around, Mark};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Features of the programs' instructions, those of the emulator's CPU.
const ARCHITECTURE: &str = ".arch armv8.5-a+sve2+memtag+flagm+crc+pauth+rcpc";

/// Where functions usually are.
const TEXT: &str = ".text";

/// The part of a file's name that its programs have if it is refused as a whole.
const WHOLE: &str = "-whole";

/// A program.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its number in the campaign.
    pub number: usize,
    /// What its site computes.
    pub kind: Kind,
    /// Bytes of memory that its site is on.
    pub size: usize,
    /// What is around the site.
    pub around: BTreeSet<Around>,
    /// The classes of that which can make rewriting wrong, and whether they do.
    pub met: BTreeSet<(Class, Form)>,
    /// Whether something around the site may make rewriting it wrong.
    pub harms: bool,
    /// Whether something else enters the site after its first instruction.
    is_entered: bool,
    /// Its assembly.
    pub text: String,
}

impl Program {
    /// What of its surroundings reaches into other programs of its file, as a part of that file's name; often nothing. Cache
    /// maintenance keeps all barriers. A pointer that something is added to may be any of the file's, also in code beside the sections.
    /// What stores or waits without a load-exclusive of its own relies on the monitor that any function may have left armed.
    pub fn reach(&self) -> &'static str {
        let has = |class: Class| self.met.iter().any(|(met, _)| *met == class);
        if has(Class::RangeAlternatives) {
            WHOLE
        } else if self.around.contains(&Around::CacheMaintenance) {
            "-maintaining"
        } else if self.around.contains(&Around::ComputedInData) {
            "-beside"
        } else if self.around.contains(&Around::AddedToPointer) {
            "-offset"
        } else if self.is_entered
            || self.met.iter().any(|&(class, form)| form == Form::Harmful && class.refuses())
        {
            "-armed"
        } else {
            ""
        }
    }

    /// Whether its whole file is refused.
    pub(super) fn is_refused_whole(&self) -> bool {
        self.reach() == WHOLE
    }
}

/// The function with the site.
struct Work {
    prologue: Vec<String>,
    /// Between the prologue and the site.
    before: Code,
    /// Of that, what gives the watched registers their values.
    watched: Code,
    /// The site's instructions, with the label that something else enters at.
    site: Vec<String>,
    /// After it, without the return.
    after: Code,
    epilogue: Vec<String>,
    /// After the return: other routes.
    routes: Code,
    saves_link: bool,
    /// Registers that are as they were when it returns, although it writes them.
    restored: u32,
    /// The label inside of the site.
    inside: String,
    /// Whether that is after the site's first instruction.
    is_inside: bool,
    /// The label before it.
    start: String,
    /// The label after it.
    past: String,
}

impl Work {
    /// The registers that may have other values when it returns.
    fn clobbers(&self) -> u32 {
        (self.before.writes | self.after.writes | self.routes.writes) & !self.restored
    }
}

/// Writes the program of that number.
pub fn program(seed: u64, number: usize, linking: Linking) -> Program {
    let mut pen = Pen::new(seed, number, linking);
    let site = site::draw(&mut pen);
    let mut text = String::new();
    let (mut work, setup) = Work::around(&mut pen, &site);
    let (section, name) = (section(&mut pen, &site, &work), pen.name("work"));
    let other = other(&mut pen, &site, &setup, &mut work, section);
    let may_harm = work.may_be_entered(&site);
    let pad = work.landing_pad(&mut pen, &site, &name);
    range::describe(&mut pen, [&work.start, &work.inside, &work.past], may_harm);
    let _ = writeln!(text, "\t{section}\n\t.balign 16\n\t.type {name}, %function\n{name}:");
    text.extend(pad.clone());
    write(&mut text, &work.prologue);
    write(&mut text, &work.before.lines);
    write(&mut text, &work.site);
    write(&mut text, &work.after.lines);
    write(&mut text, &work.epilogue);
    if site.kind != Kind::HelperTail {
        text += "\tret\n";
    }
    write(&mut text, &work.routes.lines);
    if pad.is_some() {
        text += "\t.cfi_endproc\n";
    }
    let _ = writeln!(text, "\t.size {name}, . - {name}");
    if site.kind == Kind::HelperTail {
        text += "\tnop\n";
    }
    data_between(&mut pen, &mut text);
    let clobbers = work.clobbers() | other.as_ref().map_or(0, |other| other.clobbers);
    pen.mark(Mark::Site, &work.start);
    text += "\t.text\n";
    callers::write_all(&mut pen, &mut text, &setup, clobbers, other.is_some());
    text += &pen.other;
    let Pen { around, met, harms, is_entered, .. } = pen;
    Program { number, kind: site.kind, size: site.size, around, met, harms, is_entered, text }
}

/// Instructions as lines of assembly.
pub(super) fn write(text: &mut String, lines: &[String]) {
    for line in lines.iter().flat_map(|lines| lines.lines()) {
        let _ = writeln!(text, "\t{line}");
    }
}

/// The section that the function is in.
fn section(pen: &mut Pen, site: &Site, work: &Work) -> &'static str {
    if site.store.is_some() && pen.linking == Linking::Fixed && pen.chance(2) {
        pen.around.insert(Around::WritableCode);
        pen.mark(Mark::Kept, &work.start);
        ".section .writable, \"awx\", %progbits"
    } else {
        TEXT
    }
}

/// Data in the code that may look like instructions.
fn data_between(pen: &mut Pen, text: &mut String) {
    if pen.chance(15) {
        pen.around.insert(Around::DataInText);
        let words = [pen.below(1 << 16), pen.below(1 << 16)];
        let _ = writeln!(text, "\t.word {:#x}, {:#x}, 0x17fffff0", 0x1700_0000 | words[0], words[1]);
    }
}

/// Which operands are in which registers, and whether a caller puts them there.
pub(super) struct Setup {
    pub(super) code: Code,
    pub(super) by_caller: bool,
}

impl Setup {
    fn draw(pen: &mut Pen, site: &Site, saves_link: bool) -> Setup {
        let mut code = Code::default();
        // Linkers may overwrite theirs on the way.
        let may_cross = site.given.iter().all(|(register, _)| LINKERS >> register & 1 == 0);
        let by_caller = may_cross && pen.chance(30);
        if let Some(register) = site.narrow {
            match by_caller {
                true => {
                    pen.around.insert(Around::HighBitsArgument);
                }
                false => high_bits::prepare(pen, &mut code, register, site.size, saves_link),
            }
        }
        let area = pen.area;
        for &(register, given) in &site.given {
            match given {
                Given::Base => code.set(register, format!("add x{register}, x{area}, #0")),
                Given::Operand(_) if site.narrow == Some(register) && !by_caller => {}
                Given::Operand(number) => {
                    code.set(register, format!("ldr x{register}, [x{area}, #{}]", OPERANDS + 8 * number));
                }
            }
        }
        Setup { code, by_caller }
    }
}

impl Work {
    fn around(pen: &mut Pen, site: &Site) -> (Work, Setup) {
        let calls_reader = site.kind != Kind::HelperTail && pen.chance(12);
        let saves_link = site.kind != Kind::HelperTail
            && (site.calls() || calls_reader || site.narrow.is_some() && pen.chance(30) || pen.chance(15));
        let setup = Setup::draw(pen, site, saves_link);
        let [inside, start, past] = [(); 3].map(|()| pen.label());
        let mut work = Work {
            prologue: Vec::new(),
            before: Code::default(),
            watched: Code::default(),
            site: Vec::new(),
            after: Code::default(),
            epilogue: Vec::new(),
            routes: Code::default(),
            saves_link,
            restored: 0,
            inside,
            is_inside: true,
            start,
            past,
        };
        work.watched = work.watch(pen, site, calls_reader);
        work.save(pen, site);
        if !setup.by_caller {
            work.before.extend(&setup.code);
        }
        work.before.extend(&work.watched.clone());
        let written = setup.code.writes | work.watched.writes | work.after.writes | work.before.writes;
        if let Some(saved) = saved::keep(pen, site, written) {
            work.before.extend(&saved.before);
            work.after.extend(&saved.after);
            work.restored |= 1 << saved.register;
        }
        let mut after = dependency::depend(pen, site);
        after.extend(&work.after);
        work.after = after;
        pen.noise(&mut work.before, 3);
        work.place(pen, site);
        (work, setup)
    }

    /// Registers that are set before the site and read after it.
    fn watch(&mut self, pen: &mut Pen, site: &Site, by_callee: bool) -> Code {
        let mut before = Code::default();
        if site.kind == Kind::HelperTail {
            return before;
        }
        let mut after = Code::default();
        if pen.chance(50) {
            self.watch_linkers(pen, site, &mut before, &mut after);
        }
        let mut readers = Code::default();
        // In a function that calls, linkers may overwrite theirs.
        let some = !site.code.writes & if site.calls() || by_callee { !LINKERS } else { !0 };
        let registers: Vec<u8> = (0..pen.below(4)).filter_map(|_| pen.register_among(some)).collect();
        for (register, reader) in Reader::of_all(pen, &registers) {
            reader.prepare(pen, register, &mut before);
            reader.read(pen, &mut readers);
        }
        if by_callee {
            pen.around.insert(Around::CalleeReader);
            let name = pen.name("reader");
            pen.other += &format!("\t.type {name}, %function\n{name}:\n");
            let mut callee = String::new();
            write(&mut callee, &readers.lines);
            pen.other += &format!("{callee}\tret\n\t.size {name}, . - {name}\n");
            after.writes |= readers.writes;
            after.push(format!("bl {name}"));
        } else {
            after.extend(&readers);
        }
        self.show_results(pen, site, &mut after);
        self.after = after;
        before
    }

    /// Both registers that linkers may overwrite at calls, so that a replacement has to look for another.
    fn watch_linkers(&mut self, pen: &mut Pen, site: &Site, before: &mut Code, after: &mut Code) {
        if site.calls() {
            return;
        }
        for register in [16, 17] {
            if pen.take(register) {
                before.set(register, format!("mov x{register}, #{}", 0x100 + pen.below(0xf000)));
                pen.show(after, register);
            }
        }
    }

    /// What the site computed, its flags and, at times, where a call left the link register.
    fn show_results(&mut self, pen: &mut Pen, site: &Site, after: &mut Code) {
        let mut results = Code::default();
        let written = (0..29).filter(|register| site.code.writes >> register & 1 != 0);
        // A helper leaves its scratch registers as the CPU's features have it.
        let scratch = if site.calls() { 0x1f << 13 } else { 0 };
        // What nothing reads is free to a replacement.
        let share = pen.pick(&[100, 40, 0]);
        for register in written.filter(|register| scratch >> register & 1 == 0) {
            if site.old == Some(register) || pen.chance(share) {
                pen.show(&mut results, register);
            }
        }
        if site.calls() {
            // Calls leave the flags as they like.
            results.push("cmp xzr, xzr");
        }
        if pen.chance(40) {
            let flags = pen.register();
            results.set(flags, format!("mrs x{flags}, nzcv"));
            pen.show(&mut results, flags);
            pen.release(flags);
        }
        if site.calls() && pen.chance(10) {
            pen.around.insert(Around::LinkReader);
            let link = pen.register();
            results.set(link, format!("adr x{link}, {}\nsub x{link}, x30, x{link}", self.start));
            pen.show(&mut results, link);
            pen.release(link);
        }
        let readers = std::mem::take(after);
        after.extend(&results);
        after.extend(&readers);
    }

    /// What the function saves and restores: its link register, and other registers as with `preserve_most`.
    fn save(&mut self, pen: &mut Pen, site: &Site) {
        if self.saves_link {
            self.prologue.push("str x30, [sp, #-16]!".to_owned());
            self.epilogue.push("ldr x30, [sp], #16".to_owned());
        }
        if site.kind == Kind::HelperTail || !pen.chance(25) {
            return;
        }
        let pairs: Vec<u8> = (9..15).step_by(2).filter(|_| pen.chance(60)).collect();
        let saved = pairs.iter().fold(0, |all, register| all | 3 << register);
        let push = |pairs: &[u8]| -> Vec<String> {
            pairs.iter().map(|first| format!("stp x{first}, x{}, [sp, #-16]!", first + 1)).collect()
        };
        let pop = |pairs: &[u8]| -> Vec<String> {
            pairs.iter().rev().map(|first| format!("ldp x{first}, x{}, [sp], #16", first + 1)).collect()
        };
        if pen.chance(50) {
            pen.around.insert(Around::PreserveMost);
            self.prologue.extend(push(&pairs));
            self.epilogue.splice(0..0, pop(&pairs));
            self.restored |= saved;
            return;
        }
        // Only on a route that does more, which the site is not on.
        pen.around.insert(Around::ShrinkWrapped);
        let fast = pen.label();
        let mut slow = Code::default();
        pen.branch_sometimes(&mut slow, &fast);
        slow.lines.extend(push(&pairs));
        for register in (0..29).filter(|register| saved >> register & 1 != 0) {
            slow.push(format!("mov x{register}, #{register}"));
        }
        slow.lines.extend(pop(&pairs));
        slow.push(format!("{fast}:"));
        self.before.extend(&slow);
    }

    /// The site itself, with a label in it, and what is after a failed comparison.
    fn place(&mut self, pen: &mut Pen, site: &Site) {
        let (inside, start, past) = (self.inside.clone(), self.start.clone(), self.past.clone());
        self.site.push(format!("{start}:"));
        let last = site.store.map_or(site.code.lines.len(), |store| store + 1);
        // Before its first instruction nothing may come either, where that is known what is in a register.
        let at = match site.narrow.is_some() && pen.chance(40) {
            true => 0,
            false => 2 + pen.below(last.saturating_sub(2).max(1)),
        };
        self.is_inside = at > 0;
        for (index, line) in site.code.lines.iter().enumerate() {
            if index == at.min(site.code.lines.len() - 1) {
                self.site.push(format!("{inside}:"));
            }
            self.site.push(line.clone());
        }
        self.site.push(format!("{past}:"));
        self.before.writes |= site.code.writes;
        let Some(out) = &site.out else { return };
        if pen.chance(60) {
            self.site.push(format!("{out}:"));
            return;
        }
        let on = pen.label();
        self.site.push(format!("{on}:"));
        self.routes.push(format!("{out}:"));
        if pen.chance(50) {
            self.routes.push("clrex");
        }
        self.leave_monitor(pen, site, &on);
        pen.noise(&mut self.routes, 2);
        self.routes.push(format!("b {on}"));
    }

    /// After a failed comparison: what relies on the monitor that the load-exclusive armed.
    fn leave_monitor(&mut self, pen: &mut Pen, site: &Site, on: &str) {
        let has_cleared = self.routes.lines.last().is_some_and(|line| line == "clrex");
        let (Some(old), Some(status)) = (site.old, site.status) else { return };
        if has_cleared || !pen.chance(30) {
            return;
        }
        self.routes.push(format!(".rept {}\nnop\n.endr", pen.below(70)));
        if pen.chance(50) {
            pen.around.insert(Around::WaitsForEvent);
            pen.mark(Mark::Kept, &self.start);
            self.routes.push("wfe");
            return;
        }
        pen.around.insert(Around::StillArmed);
        let suffix = site::suffix(site.size);
        let (start, base, width) = (&self.start, site.base, site::width(site.size));
        self.routes.writes |= 1 << status;
        self.routes.push(format!(
            "stxr{suffix} w{status}, {width}{old}, [x{base}]\ncbnz w{status}, {start}\nb {on}"
        ));
    }
}

impl Work {
    /// Whether it would be wrong to rewrite the site if something entered it at its inner label.
    fn may_be_entered(&self, site: &Site) -> bool {
        site.load().is_some() && self.is_inside
    }

    /// Sometimes directives by which an exception gets into the function: into the site, or to its start or what comes after it.
    fn landing_pad(&self, pen: &mut Pen, site: &Site, name: &str) -> Option<String> {
        if !pen.chance(10) {
            return None;
        }
        let form = if self.may_be_entered(site) && pen.chance(60) { Form::Harmful } else { Form::Harmless };
        pen.meet(Class::LandingPad, form);
        let pad = match form {
            Form::Harmful => {
                pen.mark(Mark::Kept, &self.start);
                &self.inside
            }
            Form::Harmless => pen.pick(&[&self.start, &self.past]),
        };
        Some(pad::opened(pen, name, pad))
    }
}

/// Another function that enters the site.
struct Other {
    clobbers: u32,
}

/// What enters the site from elsewhere: other code of the same function, another function, or both.
fn other(pen: &mut Pen, site: &Site, setup: &Setup, work: &mut Work, section: &str) -> Option<Other> {
    if site.kind == Kind::Barrier {
        more_for_barrier(pen, work);
        return None;
    }
    let load = site.load()?;
    if pen.chance(30) {
        enter_from_same_function(pen, site, work, load);
    }
    pen.chance(30).then(|| enter_from_other_function(pen, site, setup, work, (load, section)))
}

/// What the site compares with once more, with the bits above its size.
fn widened(pen: &mut Pen, site: &Site) -> Code {
    let (area, mut code) = (pen.area, Code::default());
    if let Some(operand) = site.narrow.filter(|_| pen.chance(70)) {
        code.set(operand, format!("ldr x{operand}, [x{area}, #{OPERANDS}]"));
    }
    code
}

/// The form of what enters the site. With a narrow operand an entry at its start may be wrong as well.
fn draw_form(pen: &mut Pen, site: &Site) -> Form {
    let form = pen.pick(&[Form::Harmless, Form::Harmful]);
    pen.is_entered |= form == Form::Harmful;
    pen.harms |= form == Form::Harmful || site.narrow.is_some();
    form
}

fn enter_from_same_function(pen: &mut Pen, site: &Site, work: &mut Work, load: &str) {
    let (route, first, form) = (pen.label(), pen.label(), draw_form(pen, site));
    let (mut before, mut code) = (Code::default(), Code::default());
    pen.branch_sometimes(&mut before, &route);
    work.before.extend(&before);
    code.push(format!("{route}:\n{first}:"));
    code.extend(&widened(pen, site));
    code.push(load);
    go(pen, &mut code, work, (&first, form), true);
    work.routes.extend(&code);
    pen.around.insert(Around::EntryOfSameFunction);
}

fn enter_from_other_function(
    pen: &mut Pen,
    site: &Site,
    setup: &Setup,
    work: &mut Work,
    (load, section): (&str, &str),
) -> Other {
    let (first, form) = (pen.label(), draw_form(pen, site));
    let mut code = Code::default();
    code.lines.clone_from(&work.prologue);
    code.extend(&elsewhere(&setup.code));
    code.extend(&elsewhere(&work.watched));
    code.extend(&widened(pen, site));
    code.push(format!("{first}:"));
    code.push(load);
    let may_be_data = matches!(pen.linking, Linking::Fixed | Linking::Pie | Linking::Shared);
    let placed = match pen.below(10) {
        0..3 => Placed::Cold,
        // The segment of code has it as well, where the linker does not keep them apart.
        3..5 if may_be_data => Placed::ReadOnlyData,
        _ => Placed::Text,
    };
    let is_cold = placed == Placed::Cold;
    pen.around.insert(if is_cold { Around::EntryOfColdPart } else { Around::EntryOfOtherFunction });
    let is_data = placed == Placed::ReadOnlyData;
    if is_data && (form == Form::Harmless || work.is_inside) {
        pen.meet(Class::CodeOutsideSections, form);
        evidence(pen, work, (&first, form), Class::CodeOutsideSections);
    }
    if work.prologue.is_empty() && form == Form::Harmful && pen.chance(20) {
        pen.around.insert(Around::EntryCall);
        code.lines.insert(0, "str x30, [sp, #-16]!".to_owned());
        code.push(format!("bl {}\nldr x30, [sp], #16\nret", work.inside));
    } else {
        go(pen, &mut code, work, (&first, form), placed == Placed::Text && section == TEXT);
        let is_computed = code.lines.iter().any(|line| line.contains("br x") || line.contains("ret"));
        // A narrow operand is known at the start no more, whoever enters there.
        if is_data && is_computed && (form == Form::Harmful || site.narrow.is_some()) {
            pen.around.insert(Around::ComputedInData);
        }
    }
    let (section, name) = (placed.section(), pen.name("other"));
    // Of code in data a linker may have no type.
    let kind = if is_data && pen.chance(50) { "%object" } else { "%function" };
    let bound = if pen.chance(30) { format!("\t.global {name}\n\t.hidden {name}\n") } else { String::new() };
    let mut text = format!("\t{section}\n\t.balign 4\n{bound}\t.type {name}, {kind}\n{name}:\n");
    write(&mut text, &code.lines);
    pen.other += &format!("{text}\t.size {name}, . - {name}\n\t.text\n");
    Other { clobbers: code.writes & !work.restored }
}

/// Where a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placed {
    Text,
    Cold,
    ReadOnlyData,
}

impl Placed {
    fn section(self) -> &'static str {
        match self {
            Placed::Text => TEXT,
            Placed::Cold => ".section .text.unlikely, \"ax\"",
            Placed::ReadOnlyData => ".section .rodata, \"a\"",
        }
    }
}

/// Records what shows that a class counts when the program runs, at a label that it comes past on the way into the site.
fn evidence(pen: &mut Pen, work: &Work, (label, form): (&str, Form), class: Class) {
    if form == Form::Harmful && work.is_inside {
        // udf #0
        pen.evidence(label, 0, class);
        pen.mark(Mark::Kept, &work.start);
    }
}

/// Enters the site, at its inner label in the harmful form; otherwise at its start, or a function that has nothing to do with it.
fn go(pen: &mut Pen, code: &mut Code, work: &mut Work, (first, form): (&str, Form), is_near: bool) {
    let before = pen.met.clone();
    let (start, past, function) = (work.start.clone(), work.past.clone(), pen.name("work"));
    let site = Target {
        to: if form == Form::Harmful { &work.inside } else { &start },
        else_to: &start,
        start: &start,
        enters_second: form == Form::Harmful && work.is_inside,
        past: &past,
        function: &function,
        is_near,
        saves_link: work.saves_link,
    };
    if form == Form::Harmful || pen.chance(50) {
        entry::enter(pen, code, site, form);
    } else {
        let [start, inside, past] = [(); 3].map(|()| pen.label());
        let function = decoy(pen, code, work, [&start, &inside, &past]);
        let away =
            Target { to: &inside, else_to: &start, start: &start, past: &past, function: &function, ..site };
        // The function is in the section for code, wherever the site is.
        let away = Target { enters_second: true, is_near: is_near && code_is_near(pen), ..away };
        entry::enter(pen, code, away, form);
    }
    // For a bit that is set in its address.
    if let Some(line) = work.site.first_mut() {
        line.insert_str(0, ".balign 8\n");
    }
    let classes: Vec<Class> = pen.met.difference(&before).map(|(class, _)| *class).collect();
    if form == Form::Harmful && !work.is_inside {
        pen.met = before;
    }
    for class in classes {
        evidence(pen, work, (first, form), class);
    }
}

/// Whether a function among the others is near to the site's.
fn code_is_near(pen: &Pen) -> bool {
    !pen.around.contains(&Around::WritableCode)
}

/// A function with the labels of a site, which ends as the site's does.
fn decoy(pen: &mut Pen, code: &mut Code, work: &Work, [start, inside, past]: [&str; 3]) -> String {
    // A program may have two.
    let (name, shown) = (start.replace(".L", "decoy_"), pen.register());
    let mut body = Code::default();
    body.push(format!(".balign 8\n{start}:\nnop\n{inside}:"));
    body.set(shown, format!("mov x{shown}, #78"));
    body.push(format!("{past}:"));
    pen.show(&mut body, shown);
    body.lines.extend(work.epilogue.iter().cloned());
    let mut text = format!("\t.balign 8\n\t.type {name}, %function\n{name}:\n");
    write(&mut text, &body.lines);
    pen.other += &format!("{text}\tret\n\t.size {name}, . - {name}\n");
    code.writes |= body.writes;
    pen.release(shown);
    name
}

/// The same code once more, with labels of its own.
fn elsewhere(code: &Code) -> Code {
    let labels = code.lines.iter().flat_map(|lines| lines.lines()).filter_map(|line| line.strip_suffix(':'));
    let labels: Vec<&str> = labels.collect();
    let lines = code.lines.iter().map(|line| {
        labels.iter().fold(line.clone(), |line, label| line.replace(label, &format!("{label}o")))
    });
    Code { lines: lines.collect(), writes: code.writes }
}

/// What only the barrier orders, or what comes to it by another route.
fn more_for_barrier(pen: &mut Pen, work: &mut Work) {
    let barrier = work.inside.clone();
    match pen.below(3) {
        0 => {}
        1 => {
            pen.around.insert(Around::CacheMaintenance);
            pen.mark(Mark::Kept, &barrier);
            let (area, line) = (pen.area, pen.pick(&["dc cvac", "dc cvau", "dc civac"]));
            work.after.lines.insert(0, format!("{line}, x{area}"));
        }
        _ => {
            pen.around.insert(Around::EntryAtBarrier);
            pen.mark(Mark::Kept, &barrier);
            let (route, mut before, mut code) = (pen.label(), Code::default(), Code::default());
            pen.branch_sometimes(&mut before, &route);
            work.before.extend(&before);
            code.push(format!("{route}:\nstr xzr, [x{}, #{OPERANDS}]", pen.area));
            let (function, past) = (pen.name("work"), work.past.clone());
            let target = Target {
                to: &barrier,
                else_to: &barrier,
                start: &barrier,
                enters_second: false,
                past: &past,
                function: &function,
                is_near: true,
                saves_link: work.saves_link,
            };
            entry::enter(pen, &mut code, target, Form::Harmful);
            work.routes.extend(&code);
        }
    }
}

/// All of some programs, and their table; the first has this number.
pub(super) fn assembly(programs: &[Program]) -> String {
    let mut text = format!("\t{ARCHITECTURE}\n\t.text\n");
    for program in programs {
        text += &program.text;
    }
    text +=
        "\t.section .data.rel.ro, \"aw\"\n\t.balign 8\n\t.global programs\n\t.hidden programs\nprograms:\n";
    for program in programs {
        let _ = writeln!(text, "\t.quad program_{}", program.number);
    }
    let _ = writeln!(
        text,
        "\t.global number_of_programs, numbers\n\t.hidden number_of_programs, numbers\n\
         number_of_programs:\t.quad {}\nnumbers:",
        programs.len()
    );
    for program in programs {
        let _ = writeln!(text, "\t.quad {}", program.number);
    }
    text += pad::PERSONALITY;
    text += "\t.section .note.GNU-stack, \"\", %progbits\n";
    text
}

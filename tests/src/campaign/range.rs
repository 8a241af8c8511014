//! Ranges of addresses that something outside of the program knows: where a sequence restarts, a fault is mended, a tracer or the
//! kernel writes its own instructions.
//!
//! In: labels at the start of the site, in it and after it. Out: the tables, of the site or of a function of their own.

use super::Mark;
use super::class::{Class, Form};
use super::pen::Pen;

/// The last seldom: it refuses the whole file.
const RANGES: [Class; 9] = [
    Class::RangeRestartable,
    Class::RangeRestartable,
    Class::RangeExceptions,
    Class::RangeExceptions,
    Class::RangeProbe,
    Class::RangeProbe,
    Class::RangePatchable,
    Class::RangePatchable,
    Class::RangeAlternatives,
];

/// Sometimes writes one. `may_harm`: whether the site is one that something can be inside of.
pub(super) fn describe(pen: &mut Pen, site: [&str; 3], may_harm: bool) {
    if !pen.chance(15) {
        return;
    }
    let class = pen.pick(&RANGES);
    let form = if may_harm && pen.chance(60) { Form::Harmful } else { Form::Harmless };
    pen.meet(class, form);
    if form == Form::Harmful && class.refuses() {
        pen.mark(Mark::Kept, site[0]);
    }
    let own = [(); 3].map(|()| pen.label());
    let [start, inside, past] = if form == Form::Harmful { site } else { own.each_ref().map(String::as_str) };
    if form == Form::Harmless {
        let name = pen.name("described");
        pen.other += &format!(
            "\t.type {name}, %function\n{name}:\n{start}:\tnop\n{inside}:\tmov x0, #1\n{past}:\tret\n\
             \t.size {name}, . - {name}\n"
        );
    }
    let text = match class {
        Class::RangeRestartable => restartable(pen, [start, inside, past]),
        Class::RangeExceptions => exceptions(pen, [inside, past]),
        Class::RangeProbe => {
            let at = pen.pick(&[start, inside]);
            // A note of SystemTap: the sizes of name and contents, type 3; the address, the base's, the semaphore's.
            format!(
                "\t.section .note.stapsdt, \"\", %note\n\t.balign 4\n\t.word 8, 9f - 8f, 3\n\t.asciz \"stapsdt\"\n\
                 8:\t.quad {at}, 0, 0\n\t.asciz \"campaign\"\n\t.asciz \"probe\"\n\t.asciz \"8@x0\"\n9:\t.balign 4\n"
            )
        }
        Class::RangePatchable => {
            let at = pen.pick(&[start, inside]);
            format!("\t.section __patchable_function_entries, \"aw\"\n\t.balign 8\n\t.quad {at}\n")
        }
        _ => alternatives(pen, [start, inside]),
    };
    pen.other += &text;
    pen.other += "\t.text\n";
}

/// A critical section of restartable sequences (`struct rseq_cs`), which begins before the site or in it, and ends there.
fn restartable(pen: &mut Pen, [start, inside, past]: [&str; 3]) -> String {
    let section = pen.pick(&["__rseq_cs", ".data", ".data.rel.ro"]);
    let (from, to, abort) = pen.pick(&[
        (start, inside, past),
        (start, past, past),
        (inside, past, start),
        (start, inside, start),
    ]);
    format!(
        "\t.section {section}, \"aw\"\n\t.balign 32\n\t.long 0, 0\n\t.quad {from}, {to} - {from}, {abort}\n"
    )
}

/// Where a fault is mended, in the two forms that Linux has had on this architecture.
fn exceptions(pen: &mut Pen, [inside, past]: [&str; 2]) -> String {
    let more = pen.pick(&["\t.hword 1, 0\n", ""]);
    let (from, to) = pen.pick(&[(inside, past), (past, inside)]);
    format!("\t.section __ex_table, \"a\"\n\t.balign 4\n\t.long {from} - .\n\t.long {to} - .\n{more}")
}

/// An instruction that Linux overwrites at its start, where a feature is there.
fn alternatives(pen: &mut Pen, [start, inside]: [&str; 2]) -> String {
    let (label, at) = (pen.label(), pen.pick(&[start, inside]));
    format!(
        "\t.section .altinstr_replacement, \"ax\"\n\t.balign 4\n{label}:\tnop\n\
         \t.section .altinstructions, \"a\"\n\t.balign 4\n\t.long {at} - ., {label} - .\n\t.hword 4\n\t.byte 4, 4\n"
    )
}

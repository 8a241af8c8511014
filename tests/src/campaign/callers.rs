//! Who calls the function with the site: by a call, by a pointer, by a jump; and what they keep in registers meanwhile.
//!
//! In: the registers that the functions within may overwrite. Out: the outer functions, down to the one that the harness calls.

use super::Around;
use super::pen::{Code, LINKERS, Pen};
use super::program::{Setup, write};
use super::reader::Reader;
use std::fmt::Write as _;

/// Writes the functions that call each other down to `work`, and at last `other`.
pub(super) fn write_all(pen: &mut Pen, text: &mut String, setup: &Setup, within: u32, has_other: bool) {
    let mut clobbers = within;
    let mut callee = "work";
    let mut arguments = setup.by_caller.then_some(&setup.code);
    if pen.chance(40) {
        let code = between(pen, arguments, &mut clobbers);
        function(pen, text, "between", &code);
        (callee, arguments) = ("between", None);
    }
    let code = outermost(pen, callee, arguments, clobbers, has_other);
    function(pen, text, "program", &code);
}

fn function(pen: &mut Pen, text: &mut String, what: &str, code: &Code) {
    let name = pen.name(what);
    let _ = writeln!(text, "\t.type {name}, %function\n{name}:");
    write(text, &code.lines);
    let _ = writeln!(text, "\t.size {name}, . - {name}");
}

/// What a function reads after its call from registers that the callee does not write, as gcc does with `-fipa-ra`.
fn kept(pen: &mut Pen, code: &mut Code, clobbers: u32, relied: u32, around: Around) -> Code {
    let mut after = Code::default();
    let some = !clobbers & !LINKERS;
    let registers = (0..pen.below(5)).filter_map(|_| pen.register_among(some)).collect::<Vec<u8>>();
    let relied = (0..29).filter(|register| relied >> register & 1 != 0);
    let registers: Vec<u8> = registers.into_iter().chain(relied).collect();
    for (register, reader) in Reader::of_all(pen, &registers) {
        reader.prepare(pen, register, code);
        reader.read(pen, &mut after);
        pen.around.insert(around);
    }
    after
}

/// A function between the outermost and `work`.
fn between(pen: &mut Pen, arguments: Option<&Code>, clobbers: &mut u32) -> Code {
    let mut code = Code::default();
    if pen.chance(30) {
        pen.around.insert(Around::TailCall);
        arguments.into_iter().for_each(|arguments| code.extend(arguments));
        code.push(format!("b {}", pen.name("work")));
    } else {
        code.push("str x30, [sp, #-16]!");
        let after = kept(pen, &mut code, *clobbers, 0, Around::KeptByCaller);
        arguments.into_iter().for_each(|arguments| code.extend(arguments));
        call(pen, &mut code, "work");
        code.extend(&after);
        code.push("ldr x30, [sp], #16\nret");
    }
    *clobbers |= code.writes;
    code
}

/// The function that the harness calls, which keeps what the procedure call standard says.
fn outermost(pen: &mut Pen, callee: &str, arguments: Option<&Code>, clobbers: u32, has_other: bool) -> Code {
    let mut code = Code::default();
    code.push("stp x29, x30, [sp, #-96]!\nmov x29, sp");
    let pairs = || (19_usize..29).step_by(2).map(|first| (first, first + 1, 8 * (first - 17)));
    for (first, second, at) in pairs() {
        code.push(format!("stp x{first}, x{second}, [sp, #{at}]"));
    }
    code.push(format!("mov x{}, x0", pen.area));
    let around = if callee == "work" { Around::KeptByCaller } else { Around::KeptByCallersCaller };
    let relied = pen.relied;
    let after = kept(pen, &mut code, clobbers, relied, around);
    arguments.into_iter().for_each(|arguments| code.extend(arguments));
    call(pen, &mut code, callee);
    code.extend(&after);
    if has_other {
        code.push(format!("bl {}", pen.name("other")));
    }
    for (first, second, at) in pairs() {
        code.push(format!("ldp x{first}, x{second}, [sp, #{at}]"));
    }
    code.push("ldp x29, x30, [sp], #96\nret");
    code
}

/// A call of one of the program's functions.
fn call(pen: &mut Pen, code: &mut Code, what: &str) {
    let name = pen.name(what);
    let Some(register) = pen.register_among(!LINKERS) else { return code.push(format!("bl {name}")) };
    let r = format!("x{register}");
    match pen.below(8) {
        0 => {
            pen.around.insert(Around::IndirectCall);
            code.set(register, format!("adrp {r}, {name}\nadd {r}, {r}, :lo12:{name}\nblr {r}"));
        }
        1 => {
            pen.around.insert(Around::IndirectCall);
            let pointer = pen.label();
            pen.other +=
                &format!("\t.section .data.rel.ro, \"aw\"\n\t.balign 8\n{pointer}:\t.quad {name}\n\t.text\n");
            code.set(register, format!("adrp {r}, {pointer}\nldr {r}, [{r}, :lo12:{pointer}]\nblr {r}"));
        }
        2 => {
            pen.around.insert(Around::Veneer);
            let veneer = pen.name(&format!("veneer_of_{what}"));
            pen.other += &format!(
                "\t.type {veneer}, %function\n{veneer}:\tadrp x16, {name}\n\tadd x16, x16, :lo12:{name}\n\tbr x16\n\
                 \t.size {veneer}, . - {veneer}\n"
            );
            code.push(format!("bl {veneer}"));
        }
        _ => code.push(format!("bl {name}")),
    }
    // Functions leave the flags as they like.
    code.push("cmp xzr, xzr");
    pen.release(register);
}

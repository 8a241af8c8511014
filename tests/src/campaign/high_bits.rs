//! Where the operand of a narrow comparison comes from: what an LSE instruction ignores of it, the comparison does not.
//!
//! In: the register. Out: instructions that give it its value, after which its high bits are known, or seem to be.

use super::Around;
use super::pen::{Code, OPERANDS, Pen};

/// Overwrites of x`{e}` by an operand at x`{u}` (the first of the program's), whose high bits may be set.
const WIDE: &[&str] = &[
    "ldr x{e}, [x{u}]",
    "ldp x{t}, x{e}, [x{u}, #-8]",
    "ldp x{e}, x{t}, [x{u}]",
    "ldnp x{t}, x{e}, [x{u}, #-8]",
    "ldpsw x{t}, x{e}, [x{u}, #-4]",
    "ldursh x{e}, [x{u}]",
    "ldtr x{e}, [x{u}]",
    "ldlar x{e}, [x{u}]",
    "ldapr x{e}, [x{u}]",
    "ldapur x{e}, [x{u}]",
    "ldaxr x{e}, [x{u}]\nclrex",
    "ldxp x{t}, x{e}, [x{u}]\nclrex\nldadd xzr, x{e}, [x{u}]",
    "mov x{t}, #0\nldadd x{t}, x{e}, [x{u}]",
    "ldr x{t}, [x{u}]\nswp x{t}, x{e}, [x{u}]",
    "cas x{e}, x{t}, [x{u}]\ncas x{e}, x{e}, [x{u}]",
    "ldr q16, [x{u}]\nfmov x{e}, d16",
    "ld1 {v16.2d}, [x{u}]\numov x{e}, v16.d[0]",
    "ldr d16, [x{u}]\nsmov x{e}, v16.s[0]",
    "ptrue p0.d, vl1\nld1d z16.d, p0/z, [x{u}]\nlastb x{e}, p0, z16.d",
    "ptrue p0.d, vl1\nld1d z16.d, p0/z, [x{u}]\nclastb x{e}, p0, x{e}, z16.d",
    "addvl x{e}, x{e}, #1",
    "incb x{e}",
    "inch x{e}, all, mul #2",
    "add x{e}, x{e}, #256",
    "orr w{e}, w{e}, #0x10000",
    "movk w{e}, #0x1234, lsl #16",
    "bfi x{e}, x{t}, #16, #8",
    "mvn w{e}, w{e}",
    "sxtb x{e}, w{e}",
    "ldr x{t}, [x{u}]\ncsel x{e}, x{t}, x{e}, ne",
    "ldr x{t}, [x{u}]\nmov x{e}, x{t}",
    "mrs x{e}, nzcv",
];

/// Gives the operand its value, before the site. `calls`: whether the function has saved its link register.
pub(super) fn prepare(pen: &mut Pen, code: &mut Code, register: u8, size: usize, calls: bool) {
    known(pen, code, register, size);
    match pen.below(10) {
        0..3 => {
            pen.around.insert(Around::HighBitsKnown);
        }
        3..6 => {
            pen.around.insert(Around::HighBitsOverwritten);
            overwrite(pen, code, register);
        }
        6 => join(pen, code, register, size),
        7 | 8 if calls => by_call(pen, code, register),
        _ if register == 0 && pen.free() >> 8 & 1 != 0 => by_system_call(pen, code),
        _ => {
            pen.around.insert(Around::HighBitsLoaded);
            let area = pen.area;
            let width = pen.pick(&['w', 'x']);
            code.set(register, format!("ldr {width}{register}, [x{area}, #{OPERANDS}]"));
        }
    }
}

/// With zeros from the operand's size on.
fn known(pen: &mut Pen, code: &mut Code, register: u8, size: usize) {
    let (area, suffix) = (pen.area, if size == 1 { "b" } else { "h" });
    code.set(register, format!("ldr{suffix} w{register}, [x{area}, #{OPERANDS}]"));
    if pen.chance(25) {
        code.set(register, format!("uxt{suffix} w{register}, w{register}"));
    }
}

fn overwrite(pen: &mut Pen, code: &mut Code, register: u8) {
    let [temporary, address] = [pen.register(), pen.register()];
    let template = pen.pick(WIDE);
    code.set(address, format!("add x{address}, x{}, #{OPERANDS}", pen.area));
    code.set(temporary, format!("mov x{temporary}, #0x55"));
    let lines = template.replace("{e}", &register.to_string()).replace("{t}", &temporary.to_string());
    code.set(register, lines.replace("{u}", &address.to_string()));
    for register in [temporary, address] {
        pen.release(register);
    }
}

/// On one of two routes only.
fn join(pen: &mut Pen, code: &mut Code, register: u8, size: usize) {
    pen.around.insert(Around::HighBitsJoin);
    let (area, [other, on]) = (pen.area, [pen.label(), pen.label()]);
    pen.branch_sometimes(code, &other);
    code.set(register, format!("ldr x{register}, [x{area}, #{OPERANDS}]"));
    if pen.chance(70) {
        code.push(format!("b {on}"));
    }
    code.push(format!("{other}:"));
    known(pen, code, register, size);
    code.push(format!("{on}:"));
}

/// A call of a function that writes no other register.
fn by_call(pen: &mut Pen, code: &mut Code, register: u8) {
    pen.around.insert(Around::HighBitsCall);
    let (name, area) = (pen.name("widen"), pen.area);
    pen.other += &format!(
        "\t.type {name}, %function\n{name}:\tldr x{register}, [x{area}, #{OPERANDS}]\n\tret\n\t.size {name}, . - {name}\n"
    );
    code.set(register, format!("bl {name}"));
}

/// What a system call that there is none of returns, a small negative number.
fn by_system_call(pen: &mut Pen, code: &mut Code) {
    pen.around.insert(Around::HighBitsSystemCall);
    code.set(8, "mov x8, #4000");
    code.set(0, "svc #0");
}

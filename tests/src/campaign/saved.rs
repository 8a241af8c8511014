//! A register that a function keeps for its caller, against what the procedure call standard asks of it: on the stack, by another
//! name of the stack pointer, in another register of any kind, or by an exchange.
//!
//! In: the site. Out: instructions before it that overwrite the register and give it back, and whether the caller relies on it.

use super::class::{Class, Form};
use super::pen::{Code, Pen};
use super::site::{Kind, Site};

const WAYS: [Class; 6] = [
    Class::SavedOnStack,
    Class::SavedInVector,
    Class::SavedInLinkers,
    Class::SavedInGeneral,
    Class::SavedByAlias,
    Class::SavedByExchange,
];

/// What is written before the site, after it, and the register that has its value again.
pub(super) struct Saved {
    pub(super) before: Code,
    pub(super) after: Code,
    pub(super) register: u8,
}

/// Sometimes keeps a register, none of those that the function has `written` otherwise.
pub(super) fn keep(pen: &mut Pen, site: &Site, written: u32) -> Option<Saved> {
    let share = if site.kind == Kind::Pair { 60 } else { 25 };
    if site.kind == Kind::HelperTail || !pen.chance(share) {
        return None;
    }
    let register = register(pen, site, !written)?;
    let mut class = pen.pick(&WAYS);
    let linker = pen.pick(&[16, 17]);
    if class == Class::SavedInLinkers && (site.calls() || !pen.take(linker)) {
        class = Class::SavedInVector;
    }
    let form = if pen.chance(70) { Form::Harmful } else { Form::Harmless };
    pen.meet(class, form);
    let (r, other, vector) = (format!("x{register}"), pen.register(), 20 + pen.below(12));
    let o = format!("x{other}");
    let [save, restore] = match class {
        Class::SavedOnStack => [format!("str {r}, [sp, #-16]!"), format!("ldr {r}, [sp], #16")],
        Class::SavedInVector => [format!("fmov d{vector}, {r}"), format!("fmov {r}, d{vector}")],
        Class::SavedInLinkers => [format!("mov x{linker}, {r}"), format!("mov {r}, x{linker}")],
        Class::SavedByAlias => {
            [format!("mov {o}, sp\nstr {r}, [{o}, #-16]"), format!("ldr {r}, [{o}, #-16]\nmov {o}, #0")]
        }
        Class::SavedByExchange => {
            [(); 2].map(|()| format!("eor {r}, {r}, {o}\neor {o}, {r}, {o}\neor {r}, {r}, {o}"))
        }
        _ => [format!("mov {o}, {r}"), format!("mov {r}, {o}")],
    };
    let (mut before, mut after) = (Code::default(), Code::default());
    before.writes |= 1 << register | 1 << other | 3 << 16;
    before.push(save);
    let used = pen.register();
    before.push(format!("mov {r}, #{}", 2 + pen.below(100)));
    before.set(used, format!("add x{used}, {r}, #1"));
    pen.show(&mut before, used);
    before.push(restore);
    pen.release(used);
    pen.release(other);
    if class == Class::SavedInLinkers {
        pen.release(linker);
    }
    if form == Form::Harmful {
        // In the place of the nop, a word that overwrites what the caller reads: movz x, #0x1357
        let label = pen.label();
        pen.evidence(&label, 0xd280_0000 | 0x1357 << 5 | u32::from(register), class);
        after.push(format!("{label}:\nnop"));
        pen.relied |= 1 << register;
    }
    Some(Saved { before, after, register })
}

/// One that a function may overwrite, next to one of the site's where that makes a pair.
fn register(pen: &mut Pen, site: &Site, some: u32) -> Option<u8> {
    let some = some & if site.calls() { 0xf << 9 } else { 0x7f << 9 };
    let beside = site.given.iter().fold(0, |all, (register, _)| all | 1 << (register ^ 1));
    pen.register_among(some & beside).or_else(|| pen.register_among(some))
}

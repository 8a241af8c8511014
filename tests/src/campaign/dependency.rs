//! Accesses after a site that depend on the value which it loaded: by address, by data, by control.
//!
//! In: the site. Out: instructions. A single thread computes the same whatever the order: the plan and the proof see them.

use super::class::{Class, Form};
use super::pen::{Code, Pen, SCRATCH};
use super::site::Site;

/// Sometimes writes one, for right after the site.
pub(super) fn depend(pen: &mut Pen, site: &Site) -> Code {
    let mut code = Code::default();
    let Some(loaded) = site.loaded().filter(|_| pen.chance(25)) else { return code };
    let class = pen.pick(&[Class::DependencyAddress, Class::DependencyData, Class::DependencyControl]);
    let form = if pen.chance(60) { Form::Harmful } else { Form::Harmless };
    pen.meet(class, form);
    let (to, area, slot) = (pen.register(), pen.area, pen.slot());
    let from = if form == Form::Harmful { loaded } else { area };
    match class {
        Class::DependencyAddress => {
            code.set(to, format!("eor x{to}, x{from}, x{from}\nadd x{to}, x{to}, x{area}"));
            let access = pen.pick(&["str xzr", "ldr x"]);
            let access = if access == "ldr x" { format!("ldr x{to}") } else { access.to_owned() };
            code.push(format!("{access}, [x{to}, #{SCRATCH}]"));
        }
        Class::DependencyData => {
            code.set(to, format!("eor x{to}, x{from}, x{from}"));
            code.push(format!("str x{to}, [x{area}, #{slot}]"));
        }
        _ => {
            let (on, barrier) = (pen.label(), pen.pick(&["", "isb\n"]));
            let branch = pen.pick(&["cbz", "cbnz"]);
            code.push(format!("{branch} x{from}, {on}"));
            code.set(to, format!("{barrier}ldr x{to}, [x{area}, #{SCRATCH}]"));
            code.push(format!("str xzr, [x{area}, #{slot}]\n{on}:"));
        }
    }
    // What is loaded is no result.
    code.set(to, format!("mov x{to}, #0"));
    pen.release(to);
    code
}

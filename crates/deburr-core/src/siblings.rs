//! What the members of a static archive show of one another: the families of their functions, before each is checked by itself.
//!
//! In: the bytes of an archive and where its members are. Out: [`Families`]. A function that is named for some CPUs is no variant where
//! the code of another member refers to it by its name, and that member never queries the CPU: it does not choose. What is in a table is
//! chosen by whoever reads that.

use crate::front::open;
use crate::function::reach::Families;
use crate::function::reach::file::names;
use crate::image::{Archive, UseOfName, defined_functions, uses_in_code};
use crate::insn::{Class, ClassSet, sweep::Wants};
use deburr_cpu::{Arch, FeatureSet};
use std::collections::HashMap;

/// The families of the functions that the members of an archive for one architecture define.
pub fn families(arch: Arch, bytes: &[u8], archive: &Archive) -> Families {
    let mut families = Families::of(arch, defined_functions(bytes, archive).into_iter());
    if families.is_empty() {
        return families;
    }
    let uses = uses_in_code(bytes, archive);
    let reporting = uses.iter().filter(|used| reports(used.name));
    let mut asking: HashMap<usize, bool> = reporting.map(|used| (used.member, true)).collect();
    let mut member_asks = |number: usize| {
        let object = || archive.members.get(number).and_then(|member| bytes.get(member.range.clone()));
        *asking.entry(number).or_insert_with(|| object().is_some_and(queries))
    };
    loop {
        // What is for the same CPUs is chosen with its callers.
        let is_chosen = |used: &UseOfName<'_>, named: FeatureSet| {
            used.by.and_then(|by| families.named(by)).is_some_and(|by| named.is_subset(by))
        };
        let is_plain =
            |used: &&UseOfName<'_>| families.named(used.name).is_some_and(|named| !is_chosen(used, named));
        let plain: Vec<UseOfName<'_>> = uses.iter().filter(is_plain).copied().collect();
        let mut called = plain.into_iter().filter(|used| !member_asks(used.member)).peekable();
        if called.peek().is_none() {
            return families;
        }
        // What they call in turn is not chosen, either.
        called.for_each(|used| families.leave_out(used.name));
    }
}

/// Whether an object queries the CPU.
fn queries(object: &[u8]) -> bool {
    let wants = Wants::classes(ClassSet::of(&[Class::FeatureQuery]));
    open(object, None, wants)
        .is_ok_and(|(_, program)| program.marks().any(|mark| mark.class == Class::FeatureQuery))
}

/// Whether what has this name says what the CPU has.
fn reports(name: &str) -> bool {
    names::reports_cpu(name) || names::answers(name) || name == "__cpu_model"
}

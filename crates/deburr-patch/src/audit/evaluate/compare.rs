//! Patch stage, audit, evaluate: two runs from one state → what differs.
//!
//! In: what the old and the new instructions did. Out: the registers in which they differ, by number, or the [`Fact`] that
//! must not differ whatever nobody reads. Acquire and release may become stronger, never weaker. What the old instructions
//! order by a dependency the new ones order too, except for what the load orders itself as it acquires.

use super::machine::Run;
use super::order::{LOADED, Sources};
use super::question::Manner;
use crate::subject::Fact;

/// Registers that differ, bit n for xn.
pub(crate) fn compare(old: &Run, new: &Run, manner: Manner) -> Result<u32, Fact> {
    if old.leaves_to != new.leaves_to && !(old.is_back() && new.is_back()) {
        return Err(Fact::Exit);
    }
    let must = |holds: bool, fact: Fact| if holds { Ok(()) } else { Err(fact) };
    let is_ordered = manner != Manner::Arms;
    match (&old.access, &new.access) {
        (Some(old), Some(new)) => {
            must(old.bits == new.bits, Fact::Size)?;
            must(old.address == new.address, Fact::Address)?;
            must(old.stored.is_some() == new.stored.is_some(), Fact::Stored)?;
            must(old.stored == new.stored, Fact::Memory)?;
            must(!is_ordered || new.acquires || !old.acquires, Fact::Acquire)?;
            must(!is_ordered || new.releases || !old.releases, Fact::Release)?;
        }
        (None, None) => {}
        _ => return Err(Fact::Stored),
    }
    must((old.before, old.after) == (new.before, new.after), Fact::Barrier)?;
    must(old.loads.len() == new.loads.len(), Fact::Loads)?;
    must(old.loads == new.loads, Fact::Address)?;
    must(old.registers[31] == new.registers[31], Fact::StackPointer)?;
    must(!is_ordered || old.flags == new.flags, Fact::Flags)?;
    let values = old.registers.iter().zip(&new.registers).take(31);
    let mut differ =
        values.enumerate().fold(0, |all, (number, (old, new))| all | u32::from(old != new) << number);
    if matches!(manner, Manner::Exclusives { .. }) {
        differ |= lost(old, new)?;
    }
    Ok(differ)
}

/// Registers that no longer depend on all that they did.
fn lost(old: &Run, new: &Run) -> Result<u32, Fact> {
    let ordered = if new.orders_what_follows() { LOADED } else { Sources::default() };
    let is_kept = |old: Sources, new: Sources| old.without(ordered).are_in(new);
    let (old, new) = (&old.order, &new.order);
    if !is_kept(old.control, new.control) {
        return Err(Fact::ControlDependency);
    }
    if !is_kept(old.flags, new.flags) {
        return Err(Fact::FlagsDependency);
    }
    let registers = old.registers.iter().zip(&new.registers).take(31);
    let lost =
        |(number, (old, new)): (usize, (&Sources, &Sources))| u32::from(!is_kept(*old, *new)) << number;
    Ok(registers.enumerate().map(lost).fold(0, |all, lost| all | lost))
}

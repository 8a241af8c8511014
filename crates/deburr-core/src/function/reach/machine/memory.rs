//! The memory that the loader places, as far as it says what the CPU has: words that only answers of the CPU are
//! written to, constants, and addresses.

use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::foreign::foreign;
use crate::image::Linkage;
use crate::insn::Reg;
use std::collections::{BTreeMap, BTreeSet};

/// The words whose meaning is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// By address and width in bytes.
    pub(crate) words: BTreeMap<(u64, u8), Value>,
    /// Offsets in structures of unknown place at which flags may be that are set after a check. Only the second
    /// analysis of a path without a check uses them.
    pub(crate) fields: BTreeSet<i64>,
    /// By where functions begin, the arguments that some caller gives them such a flag in. For the second analysis,
    /// too.
    pub(crate) arguments: BTreeMap<CodeOffset, BTreeSet<Argument>>,
    /// Whether to record the arguments that are constants: see `Facts::constants`.
    pub(crate) records_constants: bool,
    /// Whether to record what functions show others of the CPU: see `Facts::told`.
    pub(crate) records_told: bool,
    /// What words of unknown origin are presumed to hold.
    pub(crate) presumed: Presumed,
}

/// What words of unknown origin are presumed to hold. Nothing, where verdicts are to be proofs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Presumed {
    /// The bytes of each such word.
    pub(crate) width: u8,
    /// By offset in structures of unknown place.
    pub(crate) fields: BTreeMap<i64, Value>,
    /// The instructions that read one of them and whose result is tested for what it means.
    pub(crate) reads: BTreeSet<Svma>,
    /// By where functions begin, the registers that they get one in.
    pub(crate) arguments: BTreeMap<CodeOffset, Vec<(Reg, Value)>>,
}

impl Presumed {
    /// The word of which an operand reads all or some bytes.
    pub(crate) fn word_at(&self, at: i64, width: u8) -> Option<i64> {
        let start = at.checked_sub(at.rem_euclid(i64::from(self.width.max(1))))?;
        let end = start.checked_add(self.width.into())?;
        (at.checked_add(width.into())? <= end).then_some(start)
    }

    /// What is loaded from a structure of unknown place.
    fn field(&self, at: i64, width: u8) -> Option<Value> {
        let start = self.word_at(at, width)?;
        let value = self.fields.get(&start)?;
        Some(value.shift(i32::try_from(start - at).ok()?.checked_mul(8)?).truncate(width))
    }
}

/// Where a caller leaves an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Argument {
    Register(Reg),
    /// On the stack, so many bytes above the stack pointer that the callee begins with.
    Stack(i64),
}

impl Memory {
    /// What an instruction reads from a field that is presumed to hold something.
    pub(crate) fn presumed_field(&self, by: Svma, at: i64, width: u8) -> Option<Value> {
        if self.presumed.reads.contains(&by) { self.presumed.field(at, width) } else { None }
    }

    /// Whether some word in a range says what the CPU has.
    pub(crate) fn informs_in(&self, range: Extent) -> bool {
        let mut words = self.words.range((range.start.0, 0)..(range.end.0, 0));
        words.any(|(_, word)| word.discriminates(true))
    }

    /// What a word holds, if any byte of it is known to be informative.
    fn word(&self, at: u64, width: u8) -> Option<Value> {
        let end = at.saturating_add(u64::from(width));
        let near = || overlapping(&self.words, (at, width));
        near().next()?;
        let covers = |from: u64, stored: u8| from <= at && end <= from.saturating_add(u64::from(stored));
        let part = |from: u64, value: &Value| {
            value.shift(-8 * i32::try_from(at - from).unwrap_or(0)).truncate(width)
        };
        let whole = near().filter(|((from, stored), _)| covers(*from, *stored));
        let whole = whole.map(|((from, _), value)| part(*from, value)).reduce(|a, b| a.join(&b));
        if whole.is_some() {
            return whole;
        }
        let mut bytes: Vec<Option<Value>> = vec![None; usize::from(width)];
        for (&(from, stored), value) in near() {
            for (byte, place) in (at..end).zip(&mut bytes) {
                if let Some(offset) = byte.checked_sub(from).filter(|&offset| offset < u64::from(stored)) {
                    let part = value.shift(-8 * i32::try_from(offset).unwrap_or(0)).truncate(1);
                    *place = Some(place.as_ref().map_or(part.clone(), |other| other.join(&part)));
                }
            }
        }
        if bytes.iter().all(Option::is_none) {
            return None;
        }
        let shifts = (0i32..).map(|byte| byte * 8);
        let parts = bytes
            .into_iter()
            .zip(shifts)
            .map(|(byte, shift)| byte.unwrap_or_default().truncate(1).shift(shift));
        parts.reduce(|whole, part| whole.or(&part))
    }

    /// What the program loads from an address.
    pub(crate) fn load(&self, linkage: &Linkage<'_>, at: u64, width: u8) -> Value {
        if let Some(value) = self.word(at, width) {
            return value;
        }
        let svma = Svma(at);
        if width == 8 {
            if let Some(to) = linkage.cell(svma) {
                return Value::constant(to.0);
            }
            let import = linkage.imports.binary_search_by_key(&svma, |import| import.at);
            if let Ok(import) = import
                && !linkage.imports.get(import).is_some_and(|import| import.is_copy)
            {
                return Value::constant(foreign(import));
            }
        }
        match linkage.data_at(svma).filter(|data| data.is_constant) {
            Some(_) => initial(linkage, at, width).map_or(Value::Unknown, Value::constant),
            None => Value::Unknown,
        }
    }
}

/// Those of some words, by address and width in bytes, that share bytes with another one. None has more than eight bytes.
pub(crate) fn overlapping<V>(
    words: &BTreeMap<(u64, u8), V>,
    (at, width): (u64, u8),
) -> impl Iterator<Item = (&(u64, u8), &V)> {
    let end = at.saturating_add(width.into());
    let near = words.range((at.saturating_sub(8), 0)..(end, 0));
    near.filter(move |((from, other), _)| from.saturating_add((*other).into()) > at)
}

/// What the file says that a word holds at the start; zero in `.bss`.
pub(crate) fn initial(linkage: &Linkage<'_>, at: u64, width: u8) -> Option<u64> {
    let data = linkage.data_at(Svma(at))?;
    let from = usize::try_from(at.checked_sub(data.extent.start.0)?).ok()?;
    let mut bytes = [0u8; 8];
    for (byte, place) in bytes.iter_mut().take(usize::from(width)).enumerate() {
        *place = data.bytes.get(from.checked_add(byte)?).copied().unwrap_or(0);
    }
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_overlap_where_they_share_a_byte() {
        let words: BTreeMap<(u64, u8), ()> = (0..40u64)
            .flat_map(|at| [1, 2, 4, 8].map(|width| ((at, width), ())))
            .chain([((u64::MAX - 7, 8), ())])
            .collect();
        for (at, width) in [(0, 1), (3, 4), (16, 8), (23, 1), (39, 8), (60, 8), (u64::MAX - 4, 4)] {
            let found: Vec<(u64, u8)> = overlapping(&words, (at, width)).map(|(&word, ())| word).collect();
            let bytes = |(at, width): (u64, u8)| (0..u64::from(width)).map(move |byte| at + byte);
            let shares =
                |word: &(u64, u8)| bytes(*word).any(|byte| bytes((at, width)).any(|own| own == byte));
            let expected: Vec<(u64, u8)> = words.keys().copied().filter(shares).collect();
            assert_eq!(found, expected, "{at:#x}, {width} bytes");
        }
    }
}

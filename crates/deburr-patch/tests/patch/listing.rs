//! Listings of two sequences next to each other, as the tables of pairs have them.
//!
//! In: a line for each address, `885ffc40 ldaxr w0, [x2] | b8e18040 swpal w1, w0, [x2]`. Out: both sequences, each instruction
//! with its text. A test disassembles every instruction, so that the text cannot differ from it.

use super::Sequence;

/// The left and the right sequence of a listing.
pub(crate) type Listing = (Sequence, Sequence);

/// One instruction and its text.
pub(crate) fn instruction(text: &'static str) -> (u32, &'static str) {
    let (word, text) = text.trim().split_once(' ').expect("an instruction and its text");
    (u32::from_str_radix(word, 16).expect("eight hexadecimal digits"), text)
}

/// Both sequences of a listing.
pub(crate) fn listed(text: &'static str) -> Listing {
    let lines = text.trim().lines().map(|line| line.split_once('|').expect("two columns"));
    let (old, new): (Vec<_>, Vec<_>) = lines.map(|(old, new)| (instruction(old), instruction(new))).unzip();
    (old.leak(), new.leak())
}

//! Edits of `.eh_frame`: ranges of frame descriptions, and the bytes of call frame instructions. Each says whether it changed
//! the file. Follows the LSB, "The .eh_frame section".

use crate::bench::Bench;
use crate::file::Part;

/// `DW_CFA_*`: nop, advance by 1, 4 and 16 bytes, def_cfa, def_cfa_offset, def_cfa_register, offset, restore, remember and
/// restore state, set_loc, negate_ra_state, def_cfa_expression.
const CFA: [&[u8]; 14] = [
    &[0x00],
    &[0x41],
    &[0x44],
    &[0x50],
    &[0x0c, 7, 16],
    &[0x0e, 16],
    &[0x0e, 32],
    &[0x0d, 6],
    &[0x86, 2],
    &[0xc6],
    &[0x0a],
    &[0x0b],
    &[0x2d],
    &[0x0f, 1, 0x96],
];
/// More entries than this are left alone.
const MOST: usize = 200;

/// An entry: where its length is, how long it is with that, and whether it describes a frame.
#[derive(Debug, Clone, Copy)]
struct Entry {
    part: Part,
    is_frame: bool,
}

fn entries(bench: &Bench<'_>) -> Vec<Entry> {
    let mut found = Vec::new();
    for section in
        bench.file.named(bench.bytes, b".eh_frame").chain(bench.file.named(bench.bytes, b".debug_frame"))
    {
        let mut at = section.at;
        while at + 8 <= section.end() && found.len() < MOST {
            let length = bench.read(at, 4) as usize;
            let size = length.saturating_add(4).min(section.end() - at);
            if length == 0 {
                break;
            }
            let is_frame = ![0, 0xffff_ffff].contains(&bench.read(at + 4, 4));
            found.push(Entry { part: Part { at, size, svma: 0 }, is_frame });
            at += size;
        }
    }
    found
}

/// The start or the length of a frame description's range: moved, resized, or over another's.
pub(crate) fn range(bench: &mut Bench<'_>) -> bool {
    let frames: Vec<usize> =
        entries(bench).iter().filter(|entry| entry.is_frame).map(|entry| entry.part.at).collect();
    let (Some(&one), Some(&other)) = (bench.random.pick(&frames), bench.random.pick(&frames)) else {
        return false;
    };
    let step = 4 * bench.random.below(9) as u64;
    match bench.random.below(5) {
        // The start is relative to its own place: over another frame's it says where that is, seen from here.
        0 => {
            let distance = (other as u64).wrapping_sub(one as u64);
            let start = bench.read(other + 8, 4).wrapping_add(distance);
            bench.write(one + 8, 4, start)
        }
        1 => {
            let start = bench.read(one + 8, 4).wrapping_add(step).wrapping_sub(16);
            bench.write(one + 8, 4, start)
        }
        2 => {
            let length = bench.read(other + 12, 4);
            bench.write(one + 12, 4, length)
        }
        3 => {
            let length = bench.read(one + 12, 4).wrapping_add(step).wrapping_sub(16);
            bench.write(one + 12, 4, length)
        }
        _ => {
            let field = 8 + 4 * bench.random.below(2);
            bench.disturb(one + field, 4)
        }
    }
}

/// The length, the identifier, the augmentation or the call frame instructions of an entry.
pub(crate) fn contents(bench: &mut Bench<'_>) -> bool {
    let entries = entries(bench);
    let Some(entry) = bench.random.pick(&entries).copied() else { return false };
    match bench.random.below(6) {
        0 => bench.disturb(entry.part.at, 4),
        1 => bench.disturb(entry.part.at + 4, 4),
        2 => {
            let Some(room) = entry.part.size.checked_sub(9) else { return false };
            let at = entry.part.at + 8 + bench.random.below(room + 1);
            let byte = bench.random.draw();
            bench.write(at, 1, byte)
        }
        _ => {
            // Instructions follow the range and the augmentation's length.
            let start = if entry.is_frame { 17 } else { 14 };
            let Some(room) = entry.part.size.checked_sub(start) else { return false };
            let at = entry.part.at + start + bench.random.below(room);
            let instruction = bench.random.one_of(&CFA);
            if bench.random.once_in(2) {
                bench.push_within(entry.part, at, instruction)
            } else {
                let room = entry.part.end().saturating_sub(at).min(instruction.len());
                bench.put(at, instruction.get(..room).unwrap_or_default())
            }
        }
    }
}

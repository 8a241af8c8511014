//! Inputs of the fuzz targets: a byte that chooses the request, and a file. How they are edited, and on which thread they run.

use deburr_mutator::{Sequence, crossover, mutate};

/// Makes the calling thread the whole pool of rayon: handing a file of a few kilobytes to another thread takes longer than reading
/// it. For the fuzz targets, which have one thread; a second call does nothing.
pub fn on_this_thread() {
    // It fails where a pool has been made already.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
}

/// An input's choice and file; without a byte there is neither.
pub(crate) fn split(data: &[u8]) -> Option<(Choice, &[u8])> {
    let (choice, bytes) = data.split_first()?;
    Some((Choice(*choice), bytes))
}

/// The byte that chooses the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice(u8);

impl Choice {
    /// The file as its own debug file: two views of one lie.
    pub(crate) fn has_debug_file(self) -> bool {
        self.bit(0)
    }

    /// Whether one of the eight bits is set; the meaning is the stage's.
    pub(crate) fn bit(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }

    /// The byte as a number.
    pub(crate) fn number(self) -> usize {
        usize::from(self.0)
    }
}

/// Edits an input of a target that reads ELF files, in place: the file by its structure, or as `blind` does; now and then the choice.
/// Of `data`, `size` bytes are the input, and `max_size` the room. Returns the new size.
pub fn mutate_elf(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    blind: impl FnOnce(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut random = Sequence::scattered(u64::from(seed) << 32 | size as u64);
    if size < 2 || max_size < 2 || random.once_in(2) {
        return blind(data, size, max_size);
    }
    let Some((choice, room)) = data.split_first_mut() else { return size };
    if random.once_in(16) {
        *choice = random.draw() as u8;
    }
    let mut file = room.get(..size - 1).unwrap_or_default().to_vec();
    mutate(&mut file, max_size - 1, random.draw());
    let length = file.len().min(room.len());
    room.iter_mut().zip(&file).for_each(|(byte, new)| *byte = *new);
    1 + length
}

/// Crosses two inputs of such a target: sections of the other in the one. Returns the size, or 0 for "try something else": mutating
/// finds more.
pub fn cross_elf(one: &[u8], other: &[u8], out: &mut [u8], seed: u32) -> usize {
    let mut random = Sequence::scattered(u64::from(seed));
    let (Some((choice, one)), Some((_, other))) = (one.split_first(), other.split_first()) else { return 0 };
    let Some((out_choice, room)) = out.split_first_mut().filter(|_| random.once_in(4)) else { return 0 };
    *out_choice = *choice;
    let crossed = crossover(one, other, room.len(), random.draw());
    room.iter_mut().zip(&crossed).for_each(|(byte, new)| *byte = *new);
    1 + crossed.len()
}

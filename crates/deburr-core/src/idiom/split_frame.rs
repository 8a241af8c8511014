//! Go's small frames on AArch64, as compilers before Go 1.24 made them: x30 and x29 are stored one by one, and one
//! `ldp` loads both again.
//!
//! In: a program that Go made. Out: [`SplitFrame`]s. The instructions are those of `cmd/internal/obj/arm64`,
//! `preprocess`: it allocates a frame of at most 240 bytes by `str x30, [sp, #-size]!`, and a larger one by `sub` and
//! one `stp`.

use crate::address::Svma;
use crate::function::{Function, Program};
use crate::image::Image;
use deburr_cpu::Arch;
use rayon::prelude::*;

/// `stur x29, [sp, #-8]`: the frame pointer is below the frame.
const STORE_FRAME_POINTER: u32 = 0xf81f_83fd;
/// `ldp x29, x30, [sp, #-8]`
const LOAD_BOTH: u32 = 0xa97f_fbfd;
/// `add sp, sp, #0`; the immediate is in bits 10 to 21.
const RELEASE: u32 = 0x9100_03ff;

/// A function that stores x30 and x29 apart and loads them together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitFrame {
    /// The store of x30; that of x29 follows.
    pub store: Svma,
    /// Bytes of the frame.
    pub size: u32,
    /// The loads of both, by address, at least one.
    pub reloads: Vec<Svma>,
}

/// All such functions, by address.
pub fn split_frames(image: &Image<'_>, program: &Program) -> Vec<SplitFrame> {
    if image.arch != Arch::Aarch64 || !image.build.is_go {
        return Vec::new();
    }
    program.functions().par_iter().filter_map(|function| split_frame(image, function)).collect()
}

fn split_frame(image: &Image<'_>, function: &Function) -> Option<SplitFrame> {
    let start = image.svma(function.start);
    let code = image.bytes_at(start)?.get(..(function.end - function.start) as usize)?;
    let words: Vec<u32> = code.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let pairs = words.iter().zip(words.iter().skip(1));
    let mut pairs = pairs.zip((0i64..).map(|word| start.offset(word * 4)));
    let (size, store) = pairs.find_map(|((&first, &second), at)| {
        (second == STORE_FRAME_POINTER).then_some((frame_size(first)?, at))
    })?;
    // The same `ldp` in a frame that one `stp` set up is fast; such a frame is never as large as this one says.
    let release = RELEASE | size << 10;
    let reloads: Vec<Svma> =
        pairs.filter(|(pair, _)| *pair == (&LOAD_BOTH, &release)).map(|(_, at)| at).collect();
    (!reloads.is_empty()).then_some(SplitFrame { store, size, reloads })
}

/// The frame that `str x30, [sp, #-size]!` allocates.
fn frame_size(word: u32) -> Option<u32> {
    let offset = (word << 11) as i32 >> 23;
    (word & 0xffe0_0fff == 0xf800_0ffe && offset < 0).then_some(offset.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::{self, Reg};

    fn decode(word: u32) -> insn::Insn {
        insn::decode(Arch::Aarch64, &word.to_le_bytes(), Svma(0)).expect("an instruction")
    }

    #[test]
    fn words_are_what_their_comments_say() {
        let store = decode(STORE_FRAME_POINTER).memory.expect("a store");
        assert_eq!((store.base, store.displacement, store.size), (Some(Reg::SP), -8, 8));
        assert!(store.write && !store.write_back);
        let load = decode(LOAD_BOTH);
        let memory = load.memory.expect("a load");
        assert_eq!((memory.base, memory.displacement, memory.size), (Some(Reg::SP), -8, 16));
        assert!(memory.read && load.writes.contains(Reg::FRAME) && load.writes.contains(Reg::general(30)));
        let release = decode(RELEASE | 96 << 10);
        assert_eq!((release.dst, release.imm), (Some(Reg::SP), Some(96)));
    }

    #[test]
    fn a_frame_is_as_large_as_its_allocation_says() {
        let allocation = 0xf81a_0ffe; // str x30, [sp, #-96]!
        let memory = decode(allocation).memory.expect("a store");
        assert!(memory.write && memory.write_back && memory.base == Some(Reg::SP));
        assert_eq!(frame_size(allocation), Some(96));
        assert_eq!(frame_size(0xf800_8ffe), None); // str x30, [sp, #8]!
        assert_eq!(frame_size(0xf81a_0ffd), None); // str x29, [sp, #-96]!
    }
}

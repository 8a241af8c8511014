//! Which functions that call others keep a frame pointer, so that a profiler finds their callers.
//!
//! In: a [`Source`]. Out: [`FramePointers`]. A function keeps one if anywhere in it the frame register gets an address in the frame:
//! `mov rbp, rsp` or Go's `lea rbp, [rsp+…]`; `mov x29, sp`, `add x29, sp, …` or Go's `sub x29, sp, …`. Functions without a call
//! are left out: no chain of frames goes through them, but at its end.

use super::source::Source;
use crate::address::CodeOffset;
use crate::function::Function;
use crate::image::Image;
use deburr_cpu::Arch;
use std::collections::BTreeSet;

/// `mov rbp, rsp` in both forms, and `lea rbp, [rsp+disp8]`, `[rsp+disp32]`.
const SET_RBP: [&[u8]; 4] =
    [&[0x48, 0x89, 0xe5], &[0x48, 0x8b, 0xec], &[0x48, 0x8d, 0x6c, 0x24], &[0x48, 0x8d, 0xac, 0x24]];
/// `add x29, sp, #0` and `sub x29, sp, #0`, without the immediate.
const SET_X29: [u32; 2] = [0x9100_03fd, 0xd100_03fd];
const IMMEDIATE: u32 = 0x003f_fc00;

/// Functions that call others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FramePointers {
    /// All of them.
    pub(crate) calling: u64,
    /// Those without a frame pointer.
    pub(crate) without: u64,
    /// The first of these.
    pub(crate) first: Option<CodeOffset>,
}

impl FramePointers {
    /// Counts them.
    pub(crate) fn of(source: &Source<'_, '_>) -> FramePointers {
        let (image, program) = (source.image, source.program);
        let calling: BTreeSet<CodeOffset> = program
            .calls()
            .filter_map(|call| Some(program.whole(program.function_at(call.from)?).start))
            .collect();
        let mut found = FramePointers { calling: calling.len() as u64, ..FramePointers::default() };
        for start in calling {
            if program.function_from(start).is_some_and(|function| !keeps_one(image, function)) {
                found.without += 1;
                found.first = found.first.or(Some(start));
            }
        }
        found
    }
}

fn keeps_one(image: &Image<'_>, function: &Function) -> bool {
    let extent = function.extent(image);
    let length = usize::try_from(extent.len()).unwrap_or(usize::MAX);
    let Some(code) = image.bytes_at(extent.start).and_then(|rest| rest.get(..length.min(rest.len()))) else {
        return false;
    };
    match image.arch {
        Arch::X86_64 => SET_RBP.iter().any(|set| memchr::memmem::find(code, set).is_some()),
        Arch::Aarch64 => {
            code.as_chunks().0.iter().any(|word| SET_X29.contains(&(u32::from_le_bytes(*word) & !IMMEDIATE)))
        }
    }
}

//! Finds `getauxval` in a program that has it inside and names nothing: one linked statically, and stripped.
//!
//! In: the functions of an AArch64 file. Out: the one that does what glibc's does. It compares its only argument with
//! `AT_HWCAP` and `AT_HWCAP2`, whose values are distinct from those of the other types
//! (`sysdeps/unix/sysv/linux/dl-support.c` and `misc/getauxval.c` of glibc 2.36).

use crate::address::Svma;
use crate::function::{Function, Program};
use crate::image::Image;
use crate::insn::{self, Reg};
use deburr_cpu::Arch;

/// `cmp x0, #16` and `cmp x0, #26`: `AT_HWCAP` and `AT_HWCAP2`.
const COMPARISONS: [u32; 2] = [0xf100_401f, 0xf100_681f];
/// Maximum of instructions from the function's start to the comparisons.
const NEAR: usize = 8;
/// Maximum of bytes of the function.
const SMALL: u32 = 256;

/// Where `getauxval` begins.
pub(crate) fn getauxval(image: &Image<'_>, program: &Program) -> Option<Svma> {
    if image.arch != Arch::Aarch64 {
        return None;
    }
    let is_small = |function: &&Function| function.end - function.start <= SMALL;
    let small = program.functions().iter().filter(is_small);
    let mut found = small.map(|function| function.extent(image)).filter(|extent| {
        let code = image.bytes_at(extent.start).unwrap_or_default();
        let length = usize::try_from(extent.len()).unwrap_or(usize::MAX);
        let (words, _) = code.get(..length).unwrap_or(code).as_chunks::<4>();
        let compares = |word: &u32| words.iter().take(NEAR).any(|other| u32::from_le_bytes(*other) == *word);
        COMPARISONS.iter().all(compares) && !takes_second_argument(words, extent.start)
    });
    found.next().map(|extent| extent.start)
}

/// Whether code reads the register of the second argument before it writes it, taken in order of address: glibc's
/// `__getauxval2`, which takes the place to store the answer in.
fn takes_second_argument(words: &[[u8; 4]], start: Svma) -> bool {
    let second = Reg::general(1);
    let places = (0i64..).step_by(4).map(|at| start.offset(at));
    let mut insns =
        words.iter().zip(places).filter_map(|(word, svma)| insn::decode(Arch::Aarch64, word, svma));
    let touches = |insn: &insn::Insn| insn.reads.contains(second) || insn.writes.contains(second);
    insns.find(touches).is_some_and(|insn| insn.reads.contains(second))
}

//! The checksum by vectors of any length, four pages at a time: FEAT_SVE, in assembly.
//!
//! In: pages. Out: their checksums. Two vectors of columns of each page at a time; predicates leave out what is beyond the last column.
//! Registers: `x4` and `x6` the columns, `x8` to `x11` the rows, `z0` to `z7` the sums, `z16` to `z23` the words, `z31` the prime.

use super::page::{COLUMNS, OFFSETS, Page, stored};

/// Four pages: the sum of their checksums. The CPU must have FEAT_SVE.
#[inline(never)]
pub(super) unsafe fn four(pages: &[Page; 4], number: u32) -> u32 {
    let mut sums = [[0; COLUMNS]; 4];
    // SAFETY: the pages, the offsets and the sums are as large as their types say; the CPU has the instructions.
    unsafe { columns(pages, &OFFSETS, &mut sums) };
    let sums = sums.iter().map(|sums| sums.iter().fold(0, |all, sum| all ^ sum));
    (number..).zip(sums).map(|(number, sums)| stored(sums, number)).sum()
}

/// A sum after the word in a register, which is lost. The word of zero needs none.
macro_rules! mixed {
    ($sum:literal, $word:literal) => {
        concat!(
            "eor z", $sum, ".d, z", $sum, ".d, z", $word, ".d\n",
            mixed!(zero $sum, $word)
        )
    };
    (zero $sum:literal, $word:literal) => {
        concat!(
            "lsr z", $word, ".s, z", $sum, ".s, #17\n",
            "mul z", $sum, ".s, p2/m, z", $sum, ".s, z31.s\n",
            "eor z", $sum, ".d, z", $sum, ".d, z", $word, ".d\n",
        )
    };
}

/// All sums of four pages.
#[unsafe(naked)]
unsafe extern "C" fn columns(pages: &[Page; 4], offsets: &[u32; COLUMNS], sums: &mut [[u32; COLUMNS]; 4]) {
    core::arch::naked_asm!(
        ".arch_extension sve",
        "movz w3, #0x193",
        "movk w3, #0x100, lsl #16",
        "mov z31.s, w3",
        "ptrue p2.s",
        "cntw x12",
        "mov x4, #0",
        "mov x5, #32",
        "2: add x6, x4, x12",
        "whilelt p0.s, x4, x5",
        "whilelt p1.s, x6, x5",
        "ld1w {{z0.s}}, p0/z, [x1, x4, lsl #2]",
        "ld1w {{z1.s}}, p1/z, [x1, x6, lsl #2]",
        "mov z2.d, z0.d",
        "mov z3.d, z1.d",
        "mov z4.d, z0.d",
        "mov z5.d, z1.d",
        "mov z6.d, z0.d",
        "mov z7.d, z1.d",
        "mov x8, x0",
        "add x9, x8, #2, lsl #12",
        "add x10, x9, #2, lsl #12",
        "add x11, x10, #2, lsl #12",
        "mov x7, #64",
        "3: ld1w {{z16.s}}, p0/z, [x8, x4, lsl #2]",
        "ld1w {{z17.s}}, p1/z, [x8, x6, lsl #2]",
        "ld1w {{z18.s}}, p0/z, [x9, x4, lsl #2]",
        "ld1w {{z19.s}}, p1/z, [x9, x6, lsl #2]",
        "ld1w {{z20.s}}, p0/z, [x10, x4, lsl #2]",
        "ld1w {{z21.s}}, p1/z, [x10, x6, lsl #2]",
        "ld1w {{z22.s}}, p0/z, [x11, x4, lsl #2]",
        "ld1w {{z23.s}}, p1/z, [x11, x6, lsl #2]",
        mixed!(0, 16),
        mixed!(1, 17),
        mixed!(2, 18),
        mixed!(3, 19),
        mixed!(4, 20),
        mixed!(5, 21),
        mixed!(6, 22),
        mixed!(7, 23),
        "add x8, x8, #128",
        "add x9, x9, #128",
        "add x10, x10, #128",
        "add x11, x11, #128",
        "subs x7, x7, #1",
        "b.ne 3b",
        ".rept 2",
        mixed!(zero 0, 16),
        mixed!(zero 1, 17),
        mixed!(zero 2, 18),
        mixed!(zero 3, 19),
        mixed!(zero 4, 20),
        mixed!(zero 5, 21),
        mixed!(zero 6, 22),
        mixed!(zero 7, 23),
        ".endr",
        "add x8, x2, #128",
        "add x9, x2, #256",
        "add x10, x2, #384",
        "st1w {{z0.s}}, p0, [x2, x4, lsl #2]",
        "st1w {{z1.s}}, p1, [x2, x6, lsl #2]",
        "st1w {{z2.s}}, p0, [x8, x4, lsl #2]",
        "st1w {{z3.s}}, p1, [x8, x6, lsl #2]",
        "st1w {{z4.s}}, p0, [x9, x4, lsl #2]",
        "st1w {{z5.s}}, p1, [x9, x6, lsl #2]",
        "st1w {{z6.s}}, p0, [x10, x4, lsl #2]",
        "st1w {{z7.s}}, p1, [x10, x6, lsl #2]",
        "add x4, x6, x12",
        "cmp x4, x5",
        "b.lt 2b",
        "ret",
        ".arch_extension nosve",
    )
}

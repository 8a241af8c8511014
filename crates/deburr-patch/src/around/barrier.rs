//! Patch stage: what a barrier orders, and the atomic instruction next to it does not.
//!
//! In: the code of a file. Out: whether it has an instruction that only a barrier orders: cache and TLB
//! maintenance, tags (FEAT_MTE), 64-byte transfers to devices (FEAT_LS64), events. Such instructions may be
//! far away from the barrier, in a caller or a callee; so one of them in the file is one too many. Follows
//! DDI 0487 B2.7.3, "Data Memory Barrier", and D7.5.9, "Ordering and completion of data and instruction cache
//! instructions".

use deburr_core::address::Svma;
use deburr_core::image::Image;
use rayon::prelude::*;

/// Where the first instruction is that only a barrier orders.
pub(crate) fn needs_barriers(image: &Image<'_>) -> Option<Svma> {
    image.code.iter().find_map(|code| {
        let words = code.bytes.as_chunks::<4>().0;
        let found = words.par_iter().position_first(|word| only_barriers_order(u32::from_le_bytes(*word)))?;
        Some(code.extent.start.offset(4 * found as i64))
    })
}

fn only_barriers_order(word: u32) -> bool {
    /// `dc zva` is ordered like a store.
    const ZERO: u32 = 0xd50b_7420;
    // sys, sysl, sysp
    let is_system = matches!(word & 0xfff8_0000, 0xd508_0000 | 0xd528_0000 | 0xd548_0000);
    // sev, sevl
    let is_event = matches!(word, 0xd503_209f | 0xd503_20bf);
    // stg, st2g, stzg, stz2g, stgm, ldg, ldgm; stgp
    let is_tag = word & 0xff20_0000 == 0xd920_0000 || word & 0xfe40_0000 == 0x6800_0000;
    // ld64b, st64b; st64bv, st64bv0
    let is_device = matches!(word & 0xffff_fc00, 0xf83f_d000 | 0xf83f_9000)
        || matches!(word & 0xffe0_fc00, 0xf820_b000 | 0xf820_a000);
    is_system && word & !0x1f != ZERO || is_event || is_tag || is_device
}

#[cfg(test)]
mod tests {
    use super::only_barriers_order;

    #[test]
    fn maintenance_needs_barriers_and_zeroing_does_not() {
        let needs = [
            0xd50b_7a25, // dc cvac, x5
            0xd50b_7b21, // dc cvau, x1
            0xd50b_7e23, // dc civac, x3
            0xd50b_7c2d, // dc cvap, x13
            0xd50b_7462, // dc gva, x2
            0xd50b_7521, // ic ivau, x1
            0xd508_751f, // ic iallu
            0xd508_831f, // tlbi vmalle1is
            0xd503_209f, // sev
            0xd920_0820, // stg x0, [x1]
            0x6900_0440, // stgp x0, x1, [x2]
            0xf83f_9020, // st64b x0, [x1]
            0xf825_b020, // st64bv x5, x0, [x1]
        ];
        for word in needs {
            assert!(only_barriers_order(word), "{word:08x}");
        }
        let plain = [
            0xd50b_7425, // dc zva, x5
            0xd503_3bbf, // dmb ish
            0xd53b_e040, // mrs x0, cntvct_el0
            0xd51b_4200, // msr nzcv, x0
            0xa900_0440, // stp x0, x1, [x2]
            0x6940_0440, // ldpsw x0, x1, [x2]
            0xd503_203f, // yield
        ];
        for word in plain {
            assert!(!only_barriers_order(word), "{word:08x}");
        }
    }
}

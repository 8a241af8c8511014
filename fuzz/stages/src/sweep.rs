//! The x86-64 sweep: code → all that is found, by table and by the full decoder alone.

use deburr_core::insn::x86_64::{check_everywhere, check_sweep};

/// Sweeps code. The first eight bytes choose what is wanted and how the code is cut into units.
///
/// # Panics
/// Where the table decides an instruction wrongly, or the two sweeps differ.
pub fn sweep(data: &[u8]) {
    let Some((choice, code)) = data.split_first_chunk() else { return };
    assert_eq!(check_everywhere(code).err(), None, "an instruction is decoded wrongly");
    assert!(check_sweep(code, u64::from_le_bytes(*choice)), "the sweeps differ");
}

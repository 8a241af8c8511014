//! The vector length that libgcc's unwinder reads, told by its shape.
//!
//! In: an instruction. Out: the branch in front of it, where it is `cntd` on the equal side of a comparison with 46 and
//! nothing else leads there. 46 is the DWARF register VG (DWARF for the Arm 64-bit Architecture, 4.1; GCC,
//! config/aarch64, `AARCH64_DWARF_VG`), which only the unwind table of a frame with SVE registers names: code that has
//! made such a frame has run SVE instructions. Each static program in C++ or Rust holds this code.

use crate::address::Svma;
use crate::function::Program;
use crate::image::Image;
use crate::insn::{self, Flow};
use deburr_cpu::Arch;

/// The branch in front of the unwinder's `cntd`; `None` where the instruction is another one, or is also led to otherwise.
pub(crate) fn guard_of(image: &Image<'_>, program: &Program, at: Svma) -> Option<Svma> {
    if image.arch != Arch::Aarch64 || !is_vector_length(image, at) {
        return None;
    }
    let function = program.whole(program.function_at(image.code_offset(at)?)?);
    let extent = function.extent(image);
    let before = at.offset(-4);
    let falls_in = at > extent.start && decoded(image, before).is_none_or(|insn| insn.flow.falls_through());
    let mut branches = Vec::new();
    if falls_in {
        branches.push((before, NOT_EQUAL));
    }
    for from in (extent.start.0..extent.end.0).step_by(4).map(Svma) {
        let flow = decoded(image, from).map(|insn| insn.flow);
        if matches!(flow, Some(Flow::Branch(to) | Flow::Jump(to) | Flow::Call(to)) if to == at) {
            branches.push((from, EQUAL));
        }
    }
    let is_check = |&(branch, condition): &(Svma, u32)| {
        word(image, branch).is_some_and(|word| word & 0xff00_001f == 0x5400_0000 | condition)
            && word(image, branch.offset(-4)).is_some_and(|word| word & 0xffff_fc1f == COMPARE_WITH_46)
    };
    branches.iter().all(is_check).then_some(())?;
    branches.first().map(|(branch, _)| *branch)
}

/// The conditions of `b.cond` (Arm ARM, C1.2.4).
const EQUAL: u32 = 0;
const NOT_EQUAL: u32 = 1;
/// `cmp wN, #46`, without the register.
const COMPARE_WITH_46: u32 = 0x7100_b81f;

/// Whether this is `cntd xD` and then, after moves between registers at the most, `sxtw xN, wD`: the vector length as a
/// number of 64-bit words in an `int`.
fn is_vector_length(image: &Image<'_>, at: Svma) -> bool {
    /// Maximum of moves between the two.
    const MOVES: i64 = 4;
    let Some(count) = word(image, at).filter(|word| word & !0x1f == 0x04e0_e3e0) else { return false };
    let after = (1..=MOVES + 1).map_while(|step| word(image, at.offset(step * 4)));
    // orr xN, xzr, xM; orr wN, wzr, wM.
    let mut after = after.skip_while(|word| word & 0x7fe0_ffe0 == 0x2a00_03e0 && word & 0x1f != count & 0x1f);
    after
        .next()
        .is_some_and(|extend| extend & 0xffff_fc00 == 0x9340_7c00 && extend >> 5 & 0x1f == count & 0x1f)
}

fn word(image: &Image<'_>, at: Svma) -> Option<u32> {
    Some(u32::from_le_bytes(*image.bytes_at(at)?.first_chunk()?))
}

fn decoded(image: &Image<'_>, at: Svma) -> Option<insn::Insn> {
    insn::decode(image.arch, image.bytes_at(at)?, at)
}

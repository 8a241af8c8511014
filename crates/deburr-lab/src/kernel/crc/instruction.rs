//! CRC-32C by the instruction: `crc32` (SSE4.2), or `crc32cx` (FEAT_CRC32); called directly, through a pointer, and through a PLT.

use super::buffer::Buffer;
use std::hint::black_box;

/// The remainder after 8 more bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
#[inline]
pub(super) fn after(remainder: u32, word: u64) -> u32 {
    core::arch::x86_64::_mm_crc32_u64(remainder.into(), word) as u32
}

/// The remainder after 8 more bytes.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "crc")]
#[inline]
pub(super) fn after(remainder: u32, word: u64) -> u32 {
    core::arch::aarch64::__crc32cd(remainder, word)
}

/// The function that all of them call. The CPU must have the instruction.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
#[inline(never)]
unsafe extern "C" fn crc(buffer: &Buffer) -> u32 {
    let mut remainder = !0;
    for word in &buffer.0 {
        remainder = after(remainder, *word);
    }
    !remainder
}

/// By a direct call.
pub(super) unsafe fn direct(buffer: &Buffer, _: u32) -> u32 {
    // SAFETY: the caller has checked the CPU.
    unsafe { crc(buffer) }
}

/// Through a pointer, which is loaded for each call.
pub(super) unsafe fn through_a_pointer(buffer: &Buffer, _: u32) -> u32 {
    // SAFETY: as above.
    unsafe { black_box(SLOT)(buffer) }
}

/// Through a PLT, as a shared library's function is called, and an ifunc.
pub(super) unsafe fn through_a_plt(buffer: &Buffer, _: u32) -> u32 {
    // SAFETY: as above.
    unsafe { stub(buffer) }
}

/// What the dynamic loader would have written into the GOT.
static SLOT: unsafe extern "C" fn(&Buffer) -> u32 = crc;

/// A stub of a PLT: it goes on where the slot of the GOT points to.
#[unsafe(naked)]
unsafe extern "C" fn stub(buffer: &Buffer) -> u32 {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!("jmp qword ptr [rip + {slot}]", slot = sym SLOT);
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!("adrp x16, {slot}", "ldr x17, [x16, :lo12:{slot}]", "add x16, x16, :lo12:{slot}", "br x17", slot = sym SLOT);
}

//! Code of a kernel, a boot loader or firmware: no operating system below it decides what it may do.
//!
//! In: an image and its functions. Out: whether it runs above EL0 (Arm ARM, D1). Such code returns from exceptions, or
//! writes system registers that no program may.

use crate::function::Program;
use crate::image::{Image, Kind};
use deburr_cpu::Arch;

/// `eret`, and with pointer authentication `eretaa` and `eretab`.
const ERET: [u32; 3] = [0xd69f_03e0, 0xd69f_0bff, 0xd69f_0fff];

/// Whether the file is the Linux kernel, one of its modules, or other code for EL1 and above. Shared objects are none:
/// a few words of their data may look like such instructions.
pub fn is_privileged(image: &Image<'_>, program: &Program) -> bool {
    if image.build.is_linux_kernel {
        return true;
    }
    if image.arch != Arch::Aarch64 || image.kind == Kind::SharedObject {
        return false;
    }
    let words = image.code.iter().flat_map(|code| {
        let numbered = (0u32..).step_by(4).zip(code.bytes.chunks_exact(4));
        numbered.filter_map(move |(offset, bytes)| Some((code.at + offset, bytes.try_into().ok()?)))
    });
    let found = words.map(|(at, bytes)| (at, u32::from_le_bytes(bytes)));
    let mut found = found.filter(|(at, word)| is_of_system(*word) && !program.is_data(*at));
    found.next().is_some()
}

/// Whether only code above EL0 may execute the word: `eret`, or `msr` of a register of EL1 and above (op1 of EL0 is 3).
const fn is_of_system(word: u32) -> bool {
    let op1 = word >> 16 & 7;
    let is_write = word & 0xfff0_0000 == 0xd510_0000 && matches!(op1, 0 | 4 | 6);
    is_write || word == ERET[0] || word == ERET[1] || word == ERET[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_system_registers_and_returns_from_exceptions_are_of_a_system() {
        for word in [
            0xd518_c000, // msr vbar_el1, x0
            0xd51c_1100, // msr hcr_el2, x0
            0xd51e_1100, // msr scr_el3, x0
            0xd69f_03e0, // eret
        ] {
            assert!(is_of_system(word), "{word:#x}");
        }
        for word in [
            0xd51b_d040, // msr tpidr_el0, x0
            0xd51b_4400, // msr fpcr, x0
            0xd538_0000, // mrs x0, midr_el1
            0xd65f_03c0, // ret
        ] {
            assert!(!is_of_system(word), "{word:#x}");
        }
    }
}

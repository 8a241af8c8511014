//! Padding between functions, recognised by its bytes: what assemblers and linkers fill gaps with.
//!
//! x86-64: `int3`, and the nops of the SDM's table of recommended multi-byte sequences with any number of
//! operand-size prefixes. AArch64: `nop`, `udf #0`, `brk #0` and `brk #1`.

use deburr_cpu::Arch;

/// Length in bytes of the padding that `code` begins with.
pub(super) fn leading(arch: Arch, code: &[u8]) -> usize {
    let mut rest = code;
    loop {
        let length = match arch {
            Arch::X86_64 => match rest.first() {
                Some(0) => 1,
                _ => x86_64_nop(rest),
            },
            Arch::Aarch64 => aarch64_filler(rest),
        };
        match rest.get(length..) {
            Some(after) if length > 0 => rest = after,
            _ => return code.len() - rest.len(),
        }
    }
}

/// Length in bytes of the padding that `code` ends with. Zeros do not count on x86-64, where they are as
/// often the end of a jump's displacement.
pub(super) fn trailing(arch: Arch, code: &[u8]) -> usize {
    let mut rest = code;
    loop {
        let length = match arch {
            Arch::X86_64 => x86_64_nop_at_end(rest),
            Arch::Aarch64 => rest.last_chunk::<4>().map_or(0, |word| aarch64_filler(word)),
        };
        match rest.len().checked_sub(length).and_then(|kept| rest.get(..kept)) {
            Some(before) if length > 0 => rest = before,
            _ => return code.len() - rest.len(),
        }
    }
}

/// Maximum number of operand-size prefixes of a nop.
const PREFIXES: usize = 11;

/// Length of the longest single `int3` or nop that ends where `code` does; 0 if there is none.
fn x86_64_nop_at_end(code: &[u8]) -> usize {
    const LONGEST: usize = 15;
    let prefixes = |before: &[u8]| before.iter().rev().take_while(|&&byte| byte == 0x66).count();
    let (before, length) = match code {
        [.., 0xcc] => return 1,
        [before @ .., 0x90] => (before, 1),
        [before @ .., 0x0f, 0x1f, 0x00] => (before, 3),
        [before @ .., 0x0f, 0x1f, 0x40, 0] => (before, 4),
        [before @ .., 0x0f, 0x1f, 0x44, 0, 0] => (before, 5),
        [before @ .., 0x0f, 0x1f, 0x80, 0, 0, 0, 0] => (before, 7),
        [before @ .., 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0] => (before, 8),
        _ => return 0,
    };
    let (before, length) = match before {
        [before @ .., 0x2e] if length > 1 => (before, length + 1),
        _ => (before, length),
    };
    length + prefixes(before).min(PREFIXES).min(LONGEST - length)
}

/// Length of the `int3` or nop at the front; 0 if there is none.
fn x86_64_nop(code: &[u8]) -> usize {
    let prefixes = code.iter().take(PREFIXES).take_while(|&&byte| byte == 0x66).count();
    match code.get(prefixes..) {
        Some([0xcc, ..]) if prefixes == 0 => 1,
        Some([0x90, ..]) => prefixes + 1,
        Some([0x2e, rest @ ..]) => match long_nop(rest) {
            0 => 0,
            length => prefixes + 1 + length,
        },
        Some(rest) => match long_nop(rest) {
            0 => 0,
            length => prefixes + length,
        },
        None => 0,
    }
}

/// Length of the `0f 1f /0` at the front; 0 if there is none.
fn long_nop(code: &[u8]) -> usize {
    match code {
        [0x0f, 0x1f, 0x00, ..] => 3,
        [0x0f, 0x1f, 0x40, 0, ..] => 4,
        [0x0f, 0x1f, 0x44, 0, 0, ..] => 5,
        [0x0f, 0x1f, 0x80, 0, 0, 0, 0, ..] => 7,
        [0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, ..] => 8,
        _ => 0,
    }
}

/// 4 if a filler instruction is at the front, else 0.
fn aarch64_filler(code: &[u8]) -> usize {
    const NOP: u32 = 0xd503_201f;
    const UDF_0: u32 = 0x0000_0000;
    const BRK_0: u32 = 0xd420_0000;
    const BRK_1: u32 = 0xd420_0020;
    match code.first_chunk() {
        Some(&word) if matches!(u32::from_le_bytes(word), NOP | UDF_0 | BRK_0 | BRK_1) => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_after_a_return_is_found_from_both_sides() {
        // ret; cs nopw 0x0(%rax,%rax,1); xchg %ax,%ax
        let code = [0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x66, 0x90];
        assert_eq!(trailing(Arch::X86_64, &code), 12);
        assert_eq!(leading(Arch::X86_64, &code[1..]), 12);
        assert_eq!(leading(Arch::X86_64, &code), 0);
    }

    #[test]
    fn the_longest_nop_at_an_end_is_what_reads_as_one_from_the_front() {
        const BYTES: [u8; 10] = [0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x00, 0x40, 0x84, 0x90];
        const NOPS: [&[u8]; 3] =
            [&[0x0f, 0x1f, 0x80, 0, 0, 0, 0], &[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], &[0x0f, 0x1f, 0x44, 0, 0]];
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        for _ in 0..20_000 {
            let mut code: Vec<u8> = (0..random(20)).map(|_| BYTES[random(BYTES.len())]).collect();
            if random(2) == 0 {
                code.extend(NOPS[random(NOPS.len())]);
            }
            let longest = (1..=15.min(code.len()))
                .rev()
                .find(|&length| x86_64_nop(&code[code.len() - length..]) == length);
            assert_eq!(x86_64_nop_at_end(&code), longest.unwrap_or(0), "{code:02x?}");
        }
    }

    #[test]
    fn the_end_of_a_jump_is_no_padding() {
        // jmp +0x10
        assert_eq!(trailing(Arch::X86_64, &[0xe9, 0x10, 0, 0, 0]), 0);
    }

    #[test]
    fn words_of_aarch64_are_recognised_whole() {
        let code = [0xd65f_03c0u32, 0xd503_201f, 0].map(u32::to_le_bytes).concat();
        assert_eq!(trailing(Arch::Aarch64, &code), 8);
        assert_eq!(trailing(Arch::Aarch64, &code[..6]), 0);
    }
}

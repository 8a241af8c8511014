//! Emulating stage: what a CPU shows to programs, by a program of a few instructions that is run there.
//!
//! In: an architecture. Out: an ELF file that prints what the CPU states, and the features in what it printed. On
//! x86-64 it prints CPUID's leaves (Intel SDM volume 2, CPUID), on AArch64 the start of its stack, where the auxiliary vector
//! is (Arm psABI, 4.1). It is static, has no libc and needs nothing beyond the first level.

use deburr_cpu::query::{CpuidRegister, FEATURE_LEAVES, cpuid_bit, hwcap_bit};
use deburr_cpu::{Arch, Feature, FeatureSet};

/// Where it is loaded.
const BASE: u64 = 0x40_0000;
/// Bytes of its headers.
const HEADERS: u64 = 64 + 56;
/// Bytes of the stack that it prints on AArch64; its one argument, of twice that length, makes sure that they are there.
const STACK: usize = 1024;

const X86_64: &[&[u8]] = &[
    &[0x4c, 0x8d, 0x25, 0x5c, 0x00, 0x00, 0x00], // lea r12, [rip+table]
    &[0x45, 0x8b, 0x34, 0x24],                   // mov r14d, [r12]
    &[0x49, 0x83, 0xc4, 0x04],                   // add r12, 4
    &[0x41, 0x6b, 0xd6, 0x10],                   // imul edx, r14d, 16
    &[0x48, 0x81, 0xec, 0x00, 0x04, 0x00, 0x00], // sub rsp, 1024
    &[0x49, 0x89, 0xe5],                         // mov r13, rsp
    &[0x41, 0x89, 0xd7],                         // mov r15d, edx
    &[0x41, 0x8b, 0x04, 0x24],                   // next: mov eax, [r12]
    &[0x41, 0x8b, 0x4c, 0x24, 0x04],             // mov ecx, [r12+4]
    &[0x0f, 0xa2],                               // cpuid
    &[0x41, 0x89, 0x45, 0x00],                   // mov [r13], eax
    &[0x41, 0x89, 0x5d, 0x04],                   // mov [r13+4], ebx
    &[0x41, 0x89, 0x4d, 0x08],                   // mov [r13+8], ecx
    &[0x41, 0x89, 0x55, 0x0c],                   // mov [r13+12], edx
    &[0x49, 0x83, 0xc4, 0x08],                   // add r12, 8
    &[0x49, 0x83, 0xc5, 0x10],                   // add r13, 16
    &[0x41, 0xff, 0xce],                         // dec r14d
    &[0x75, 0xd8],                               // jnz next
    &[0xb8, 0x01, 0x00, 0x00, 0x00],             // mov eax, 1 (write)
    &[0xbf, 0x01, 0x00, 0x00, 0x00],             // mov edi, 1
    &[0x48, 0x89, 0xe6],                         // mov rsi, rsp
    &[0x44, 0x89, 0xfa],                         // mov edx, r15d
    &[0x0f, 0x05],                               // syscall
    &[0xb8, 0x3c, 0x00, 0x00, 0x00],             // mov eax, 60 (exit)
    &[0x31, 0xff],                               // xor edi, edi
    &[0x0f, 0x05],                               // syscall; table: a count, then leaves and subleaves
];

const AARCH64: [u32; 8] = [
    0x910003e1, // mov x1, sp
    0xd2800020, // mov x0, #1
    0xd2808002, // mov x2, #1024
    0xd2800808, // mov x8, #64 (write)
    0xd4000001, // svc #0
    0xd2800000, // mov x0, #0
    0xd2800ba8, // mov x8, #93 (exit)
    0xd4000001, // svc #0
];

/// Leaf 0 and 0x80000000 state the highest leaf; what comes for a leaf beyond is no answer.
fn leaves() -> Vec<(u32, u32)> {
    let with_subleaves = FEATURE_LEAVES.iter().flat_map(|&leaf| match leaf {
        7 | 0xd => vec![(leaf, 0), (leaf, 1)],
        _ => vec![(leaf, 0)],
    });
    [(0, 0), (0x8000_0000, 0)].into_iter().chain(with_subleaves).collect()
}

/// The ELF file.
pub fn program(arch: Arch) -> Vec<u8> {
    let code: Vec<u8> = match arch {
        Arch::X86_64 => {
            let table = leaves();
            let words = table.iter().flat_map(|&(leaf, subleaf)| [leaf, subleaf]);
            let table = std::iter::once(table.len() as u32).chain(words).flat_map(u32::to_le_bytes);
            X86_64.concat().into_iter().chain(table).collect()
        }
        Arch::Aarch64 => AARCH64.iter().flat_map(|word| word.to_le_bytes()).collect(),
    };
    let machine: u16 = match arch {
        Arch::X86_64 => 62,
        Arch::Aarch64 => 183,
    };
    let size = HEADERS + code.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let halves =
        |file: &mut Vec<u8>, values: &[u16]| file.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    let words = |file: &mut Vec<u8>, values: &[u32]| file.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    let longs = |file: &mut Vec<u8>, values: &[u64]| file.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    // gABI, ELF header: ET_EXEC, one program header after it, no sections.
    halves(&mut file, &[2, machine]);
    words(&mut file, &[1]);
    longs(&mut file, &[BASE + HEADERS, 64, 0]);
    words(&mut file, &[0]);
    halves(&mut file, &[64, 56, 1, 0, 0, 0]);
    // PT_LOAD, readable and executable.
    words(&mut file, &[1, 5]);
    longs(&mut file, &[0, BASE, BASE, size, size, 0x1000]);
    file.extend(code);
    file
}

/// The argument that it needs.
pub fn argument() -> String {
    "-".repeat(2 * STACK)
}

/// The features in what it printed; `None` where that is not what it prints.
pub fn features(arch: Arch, printed: &[u8]) -> Option<FeatureSet> {
    match arch {
        Arch::X86_64 => of_cpuid(printed),
        Arch::Aarch64 => of_stack(printed),
    }
}

fn of_cpuid(printed: &[u8]) -> Option<FeatureSet> {
    let leaves = leaves();
    let (words, []) = printed.as_chunks::<4>() else { return None };
    let (answers, []) = words.as_chunks::<4>() else { return None };
    if answers.len() != leaves.len() {
        return None;
    }
    let highest = |index: usize| answers.get(index).map(|answer| u32::from_le_bytes(answer[0]));
    let (basic, extended) = (highest(0)?, highest(1)?);
    let mut features = FeatureSet::EMPTY;
    for (&(leaf, subleaf), answer) in leaves.iter().zip(answers) {
        if leaf > if leaf < 0x8000_0000 { basic } else { extended } {
            continue;
        }
        let registers = [CpuidRegister::Eax, CpuidRegister::Ebx, CpuidRegister::Ecx, CpuidRegister::Edx];
        for (register, bytes) in registers.into_iter().zip(answer) {
            let value = u32::from_le_bytes(*bytes);
            let set = (0..32).filter(|bit| value & (1 << bit) != 0);
            features =
                features.union(set.filter_map(|bit| cpuid_bit(leaf, subleaf, register, bit)).collect());
        }
    }
    Some(features)
}

fn of_stack(printed: &[u8]) -> Option<FeatureSet> {
    const AT_NULL: u64 = 0;
    const AT_HWCAP: u64 = 16;
    const AT_HWCAP2: u64 = 26;
    let mut longs = printed.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    // argc, argv and a null pointer, the environment and a null pointer.
    let arguments = longs.next()?;
    longs.nth(usize::try_from(arguments).ok()?)?;
    longs.by_ref().find(|pointer| *pointer == 0)?;
    let mut features: Option<FeatureSet> = None;
    while let (Some(kind), Some(value)) = (longs.next(), longs.next()) {
        let word = match kind {
            AT_NULL => break,
            AT_HWCAP => 1,
            AT_HWCAP2 => 2,
            _ => continue,
        };
        let bits = (0..64).filter(|bit| value & (1 << bit) != 0);
        let set: FeatureSet =
            bits.filter_map(|bit| hwcap_bit(word, bit)).collect::<Vec<Feature>>().into_iter().collect();
        features = Some(features.unwrap_or_default().union(set));
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::Feature::*;

    #[test]
    fn the_programs_are_small_elf_files_that_begin_after_their_headers() {
        for (arch, machine) in [(Arch::X86_64, 62), (Arch::Aarch64, 183)] {
            let file = program(arch);
            assert!(file.starts_with(b"\x7fELF") && file[18] == machine && file.len() < 512);
            assert_eq!(u64::from_le_bytes(*file[24..].first_chunk().unwrap()), BASE + HEADERS);
        }
        // The displacement in the first instruction leads to the table after the last.
        let code = X86_64.concat();
        assert_eq!(code.len() - 7, usize::from(code[3]));
        assert!(leaves().len() * 16 <= 1024);
    }

    #[test]
    fn leaves_beyond_the_highest_are_no_answers() {
        let answer = |basic: u32| {
            let printed = leaves().into_iter().flat_map(|(leaf, _)| match leaf {
                0 => [basic, 0, 0, 0],
                7 => [0, 1 << 5, 0, 0],
                _ => [0; 4],
            });
            printed.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
        };
        assert_eq!(features(Arch::X86_64, &answer(7)), Some(FeatureSet::of(&[AVX2])));
        assert_eq!(features(Arch::X86_64, &answer(6)), Some(FeatureSet::EMPTY));
        assert_eq!(features(Arch::X86_64, &answer(7)[1..]), None);
        assert_eq!(features(Arch::X86_64, b"Illegal instruction"), None);
    }

    #[test]
    fn the_auxiliary_vector_follows_arguments_and_environment() {
        let stack =
            [2_u64, 0x1000, 0x1100, 0, 0x1200, 0, 6, 4096, 16, 1 << 8 | 3, 26, 1 << 1, 0, 0, 16, 1 << 22];
        let printed: Vec<u8> = stack.into_iter().flat_map(u64::to_le_bytes).collect();
        let found = features(Arch::Aarch64, &printed).unwrap();
        assert!(found.contains(FEAT_LSE) && found.contains(FEAT_SVE2) && !found.contains(FEAT_SVE));
        assert_eq!(features(Arch::Aarch64, &printed[..24]), None);
    }
}

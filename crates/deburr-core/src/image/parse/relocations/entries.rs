//! A relocation table → its entries, and what the loader does for each kind of entry.

use deburr_cpu::Arch;

/// Bytes of an entry of a relocation table with addends.
pub(crate) const RELA: usize = 24;

/// An entry of a relocation table with addends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rela {
    pub(crate) offset: u64,
    pub(crate) kind: u32,
    pub(crate) symbol: u64,
    pub(crate) addend: i64,
}

/// The entries of a relocation table.
pub(crate) fn entries_of(table: &[u8]) -> impl Iterator<Item = Rela> + '_ {
    let (entries, _) = table.as_chunks::<8>();
    let (entries, _) = entries.as_chunks::<3>();
    entries.iter().map(|&[offset, info, addend]| {
        let info = u64::from_le_bytes(info);
        Rela {
            offset: u64::from_le_bytes(offset),
            kind: info as u32,
            symbol: info >> 32,
            addend: i64::from_le_bytes(addend),
        }
    })
}

/// What a relocation of a linked file puts into its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dynamic {
    /// The addend.
    Relative,
    /// The address of a symbol, in data.
    Absolute,
    /// The address of a symbol, in the global offset table.
    Slot,
    /// What the resolver at the addend returns.
    Irelative,
    /// The bytes of another file's object.
    Copy,
}

pub(crate) fn dynamic_kind(arch: Arch, kind: u32) -> Option<Dynamic> {
    Some(match (arch, kind) {
        // R_AARCH64_AUTH_RELATIVE, AUTH_ABS64 and AUTH_GLOB_DAT (PAuth ABI, "Relocations") sign what the others put there.
        (Arch::X86_64, 8) | (Arch::Aarch64, 1027 | 1041) => Dynamic::Relative,
        (Arch::X86_64, 1) | (Arch::Aarch64, 257 | 580) => Dynamic::Absolute,
        (Arch::X86_64, 6 | 7) | (Arch::Aarch64, 1025 | 1026 | 1042) => Dynamic::Slot,
        (Arch::X86_64, 37) | (Arch::Aarch64, 1032) => Dynamic::Irelative,
        (Arch::X86_64, 5) | (Arch::Aarch64, 1024) => Dynamic::Copy,
        _ => return None,
    })
}

/// Whether a slot is one of the procedure linkage table (`JUMP_SLOT`), to which that alone refers.
pub(crate) fn is_of_linkage_table(arch: Arch, kind: u32) -> bool {
    matches!((arch, kind), (Arch::X86_64, 7) | (Arch::Aarch64, 1026))
}

/// Whether a relocation of a linked file that [`dynamic_kind`] does not have puts no address of code in its place: none, and those
/// of threads' variables.
pub(crate) fn is_harmless(arch: Arch, kind: u32) -> bool {
    match arch {
        Arch::X86_64 => matches!(kind, 0 | 16 | 17 | 18 | 36),
        Arch::Aarch64 => matches!(kind, 0 | 256 | 1028..=1031),
    }
}

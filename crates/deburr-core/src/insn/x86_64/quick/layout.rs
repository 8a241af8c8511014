//! What an entry of the table says, and how the rows of entries are numbered.
//!
//! An entry has a code of iced-x86 in its upper half. The code stands for every code with the same facts. The lower half
//! says how long the instruction is and what may be decided by the table.

/// Bytes after the opcode, immediate and ModRM included, SIB and displacement not.
pub(super) const BYTES: u32 = 0xf;
/// By how much to shift an entry right so that its bits select those of [`MODRM`].
pub(super) const MODRM_SHIFT: u32 = 4;
/// A ModRM byte follows the opcode.
pub(super) const HAS_MODRM: u32 = (EXTRA | RIP | INDEX) << MODRM_SHIFT;
/// Operand 0 is memory where ModRM names memory.
pub(super) const TO_MEMORY: u32 = MEMORY << MODRM_SHIFT;
/// Not decided by the table.
pub(super) const SLOW: u32 = 1 << 10;
/// The upper half is a number of 16 entries, by the mode and register field of ModRM.
pub(super) const BY_MODRM: u32 = 1 << 11;
/// The immediate is a displacement of 8 bits.
pub(super) const SHORT: u32 = 1 << 12;
/// The immediate is a displacement of 32 bits.
pub(super) const NEAR: u32 = 1 << 13;
/// Of an entry for VEX and EVEX: decided only without the second source (vvvv all ones).
pub(super) const NO_SOURCE: u32 = 1 << 12;
/// Decided only for registers 0 to 7 in the register field.
pub(super) const LOW_REGISTER: u32 = 1 << 13;
/// Decided only without zeroing.
pub(super) const NO_ZEROING: u32 = 1 << 14;
/// Decided only without broadcast, rounding and suppressed exceptions.
pub(super) const NO_BROADCAST: u32 = 1 << 15;

/// The code or the number of an entry.
pub(super) const CODE_SHIFT: u32 = 16;

/// Of [`MODRM`]: the bytes of SIB and displacement.
pub(super) const EXTRA: u32 = 7;
/// Memory relative to RIP.
pub(super) const RIP: u32 = 1 << 3;
/// Memory with SIB and without displacement, unless the base of SIB says so.
pub(super) const INDEX: u32 = 1 << 4;
/// Memory.
pub(super) const MEMORY: u32 = 1 << 5;

/// By the ModRM byte: what it says of the operand's place and of its length. SDM volume 2, table 2-2.
#[expect(clippy::indexing_slicing, reason = "evaluated while compiling, where a bad index is an error")]
pub(super) static MODRM: [u8; 256] = {
    let mut all = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mode, rm) = (byte >> 6, byte & 7);
        let sib = (rm == 4) as u32;
        let bits = match mode {
            0 if rm == 5 => 4 | RIP | MEMORY,
            0 if rm == 4 => 1 | INDEX | MEMORY,
            0 => MEMORY,
            1 => (1 + sib) | MEMORY,
            2 => (4 + sib) | MEMORY,
            _ => 0,
        };
        all[byte] = bits as u8;
        byte += 1;
    }
    all
};

/// Which of 16 entries a ModRM byte selects: the register field, and 8 more where the operand is a register.
#[inline(always)]
pub(super) fn selector(modrm: u8) -> usize {
    usize::from(modrm >> 3 & 7 | u8::from(modrm >= 0xc0) << 3)
}

/// How many contexts there are; each has a row of 256 entries.
pub(super) const CONTEXTS: usize = 216;

/// The prefixes that select a meaning of opcodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// Opcode map 0 to 3; the mandatory prefix (none, 66, F3, F2); no REX, REX without W, REX with W.
    Legacy { map: usize, prefix: usize, rex: usize },
    /// Map 1 to 3, mandatory prefix, W, L.
    Vex { map: usize, prefix: usize, wide: usize, length: usize },
    /// Map 1, 2, 3, 5, 6, mandatory prefix, W, L'L below 3.
    Evex { map: usize, prefix: usize, wide: usize, length: usize },
}

impl Context {
    /// The number of the context, below [`CONTEXTS`].
    #[inline(always)]
    pub(super) const fn number(self) -> usize {
        match self {
            Context::Legacy { map, prefix, rex } => (map * 4 + prefix) * 3 + rex,
            Context::Vex { map, prefix, wide, length } => {
                48 + ((map - 1) * 4 + prefix) * 4 + wide * 2 + length
            }
            Context::Evex { map, prefix, wide, length } => {
                let map = if map > 3 { map - 2 } else { map - 1 };
                96 + (map * 4 + prefix) * 6 + wide * 3 + length
            }
        }
    }

    /// All contexts, by number.
    pub(super) fn all() -> Vec<Context> {
        let mut all = Vec::with_capacity(CONTEXTS);
        for (map, prefix, rex) in product(&[0, 1, 2, 3], 3) {
            all.push(Context::Legacy { map, prefix, rex });
        }
        for (map, prefix, both) in product(&[1, 2, 3], 4) {
            all.push(Context::Vex { map, prefix, wide: both / 2, length: both % 2 });
        }
        for (map, prefix, both) in product(&[1, 2, 3, 5, 6], 6) {
            all.push(Context::Evex { map, prefix, wide: both / 3, length: both % 3 });
        }
        all
    }
}

/// All maps, each with all prefixes, each with all numbers below `last`.
fn product(maps: &[usize], last: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    maps.iter().flat_map(move |&map| (0..4 * last).map(move |rest| (map, rest / last, rest % last)))
}

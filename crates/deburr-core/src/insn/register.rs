//! Registers of either architecture, and sets of them.

/// A register of either architecture. Sub-registers count as the whole (`al`, `w0` → `rax`, `x0`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg(u8);

impl Reg {
    /// General register `n`: `rax`=0 … `r15`=15 in encoding order, or `x0` … `x30`.
    pub const fn general(n: u8) -> Reg {
        Reg(n & 31)
    }
    /// The stack pointer of AArch64. On x86-64 `rsp` is general register 4.
    pub const SP: Reg = Reg(31);
    /// The frame pointer of AArch64, `x29`.
    pub const FRAME: Reg = Reg(29);
    /// The condition flags: RFLAGS' status flags, or NZCV.
    pub const FLAGS: Reg = Reg(32);
    /// Vector register `n`: `xmm`/`ymm`/`zmm`, or `v`/`z` and its scalar views.
    pub const fn vector(n: u8) -> Reg {
        Reg(64 + (n & 31))
    }
    /// Mask register `k0` … `k7`, or predicate register `p0` … `p15`.
    pub const fn mask(n: u8) -> Reg {
        Reg(96 + (n & 15))
    }
    /// Any other register (segment, control, x87, tile).
    pub const OTHER: Reg = Reg(127);
    /// The register `steps` after this one in its file, modulo the size of the file.
    pub(crate) const fn following(self, steps: u8) -> Reg {
        match self.0 {
            n @ 0..=31 => Reg::general(n.wrapping_add(steps)),
            n @ 64..=95 => Reg::vector(n.wrapping_add(steps)),
            n @ 96..=111 => Reg::mask(n.wrapping_add(steps)),
            _ => self,
        }
    }
    /// The number of a general register or of AArch64's stack pointer (31), for tables of registers.
    pub const fn index(self) -> Option<usize> {
        if self.0 < 32 { Some(self.0 as usize) } else { None }
    }
    /// Whether it is a vector register.
    pub const fn is_vector(self) -> bool {
        self.0 >= 64 && self.0 < 96
    }
    /// The number of a general register, if it is one.
    pub const fn general_number(self) -> Option<u8> {
        if self.0 < 31 { Some(self.0) } else { None }
    }
}

/// A set of registers. The zero register of AArch64 is in no set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegSet(u128);

impl RegSet {
    /// The set without registers.
    pub const EMPTY: RegSet = RegSet(0);

    /// All registers.
    pub const ALL: RegSet = RegSet(u128::MAX);

    /// This set and one more register.
    #[must_use]
    pub const fn with(self, reg: Reg) -> RegSet {
        RegSet(self.0 | 1 << reg.0)
    }

    /// This set without a register.
    #[must_use]
    pub const fn without(self, reg: Reg) -> RegSet {
        RegSet(self.0 & !(1 << reg.0))
    }

    /// Whether the set holds the register.
    pub const fn contains(self, reg: Reg) -> bool {
        self.0 & (1 << reg.0) != 0
    }

    /// All registers of both sets.
    #[must_use]
    pub const fn union(self, other: RegSet) -> RegSet {
        RegSet(self.0 | other.0)
    }

    /// This set without the registers of another.
    #[must_use]
    pub const fn minus(self, other: RegSet) -> RegSet {
        RegSet(self.0 & !other.0)
    }

    /// The registers of both sets alike.
    #[must_use]
    pub const fn intersection(self, other: RegSet) -> RegSet {
        RegSet(self.0 & other.0)
    }

    /// The general registers in it and AArch64's stack pointer, by number.
    pub fn general(self) -> impl Iterator<Item = Reg> {
        let mut rest = self.0 as u32;
        std::iter::from_fn(move || {
            let number = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            (number < 32).then_some(Reg(number as u8))
        })
    }

    /// Whether the two sets share a register.
    pub const fn intersects(self, other: RegSet) -> bool {
        self.0 & other.0 != 0
    }
}

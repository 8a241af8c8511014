//! What one instruction computes on data, element by element: for the rules that need to know how wide a loop works.
//!
//! In: the bytes of an instruction. Out: [`Arithmetic`], the same for a scalar instruction and for its vector form, so
//! that the two can be compared. Moves, shuffles, tests and what only makes addresses are none.

/// The kind of an element operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Work {
    /// Addition, subtraction, negation, and sums of differences.
    Add,
    /// Multiplication.
    Multiply,
    /// Both in one: fused multiply-add, `mla`, `pmaddwd`, dot products.
    MultiplyAdd,
    /// Division, and estimates of a reciprocal.
    Divide,
    /// Square root, and estimates of its reciprocal.
    Root,
    /// And, or, exclusive or, bit clear, bit select.
    Logic,
    /// Shifts and rotations.
    Shift,
    /// Smaller or larger of two, absolute value.
    MinMax,
    /// Comparison into a mask.
    Compare,
    /// Conversion between number formats.
    Convert,
}

/// Instructions that may wait for the old value of the register that they overwrite. Nobody needs that value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FalseDependency {
    /// `popcnt`.
    CountBits,
    /// `lzcnt`.
    LeadingZeros,
    /// `tzcnt`.
    TrailingZeros,
    /// `blsi`, `blsmsk`, `blsr`.
    LowestBit,
    /// One number into a vector register whose other lanes stay: `cvtsi2sd`, `sqrtsd`.
    PartialUpdate,
}

/// What an instruction computes on data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arithmetic {
    /// What.
    pub work: Work,
    /// Whether on floating-point numbers.
    pub is_float: bool,
    /// Whether on floating-point numbers of 64 bits.
    pub is_double: bool,
    /// Bits of the vectors it works on; 0 where it works on one number, [`SCALABLE`] for SVE.
    pub bits: u16,
}

/// The width of an SVE vector, which the instructions do not show.
pub const SCALABLE: u16 = u16::MAX;

impl Arithmetic {
    /// Whether it works on vectors.
    pub const fn is_vector(self) -> bool {
        self.bits != 0
    }
}

//! How much of the vector registers an instruction uses at once.
//!
//! In: the bytes of an instruction. Out: [`VectorUse`]: the width of its vector operands where it treats them as
//! several elements, and whether it computes with them. Scalar floating point (`addsd`, `fadd d0, …`) uses none; moves,
//! shuffles, zeroing, and the bitwise operations that compilers use for scalar signs do not compute. Callers that need
//! it decode again.

/// How wide vectors are; ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum VectorWidth {
    /// No vectors.
    #[default]
    None,
    /// MMX, and the short form of Advanced SIMD.
    Bits64,
    /// SSE, and the long form of Advanced SIMD.
    Bits128,
    /// AVX.
    Bits256,
    /// AVX-512.
    Bits512,
    /// SVE: as wide as the machine's registers.
    Scalable,
}

impl VectorWidth {
    /// `none`, `256 bits`, `SVE`.
    pub const fn name(self) -> &'static str {
        match self {
            VectorWidth::None => "none",
            VectorWidth::Bits64 => "64 bits",
            VectorWidth::Bits128 => "128 bits",
            VectorWidth::Bits256 => "256 bits",
            VectorWidth::Bits512 => "512 bits",
            VectorWidth::Scalable => "SVE",
        }
    }
}

/// What one instruction does with vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VectorUse {
    /// The width of its widest vector operand.
    pub width: VectorWidth,
    /// Whether it computes with the elements, rather than moving them.
    pub computes: bool,
}

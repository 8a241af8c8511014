//! How much of the vector registers an A64 instruction uses: by the group of its encoding, DDI 0487 C4.1.

use super::fields::bits;
use super::summary;
use crate::insn::vector::{VectorUse, VectorWidth};
use disarm64_defn::InsnClass as C;

/// What the first word of `code` does with vectors.
pub fn vector_use(code: &[u8]) -> VectorUse {
    let word = code.first_chunk::<4>().map(|word| u32::from_le_bytes(*word));
    let Some((word, definition)) = word.and_then(|word| Some((word, summary::define(word)?.definition)))
    else {
        return VectorUse::default();
    };
    let name = format!("{:?}", definition.class);
    if name.starts_with("SVE") {
        let moves = matches!(
            definition.class,
            C::SVE_MISC | C::SVE_CPY | C::SVE_INDEX | C::SVE_LIMM | C::SVE_MOVPRFX | C::SVE_PRED_ZM
        );
        return VectorUse { width: VectorWidth::Scalable, computes: !moves };
    }
    // Q
    let width = if bits(word, 30, 30) == 1 { VectorWidth::Bits128 } else { VectorWidth::Bits64 };
    let computes = match definition.class {
        C::ASIMDSAME => !(definition.mnemonic == "orr" && bits(word, 9, 5) == bits(word, 20, 16)),
        C::ASIMDALL | C::ASIMDDIFF | C::ASIMDELEM | C::ASIMDMISC | C::ASIMDSHF | C::DOTPRODUCT => true,
        C::CRYPTOAES | C::CRYPTOSHA2 | C::CRYPTOSHA3 | C::CRYPTOSM3 | C::CRYPTOSM4 => {
            return VectorUse { width: VectorWidth::Bits128, computes: true };
        }
        C::ASIMDEXT | C::ASIMDIMM | C::ASIMDINS | C::ASIMDPERM | C::ASIMDTBL | C::ASISDLSE | C::ASISDLSEP => {
            // `umov` and `ins` move one element.
            if definition.class == C::ASIMDINS && definition.mnemonic != "dup" {
                return VectorUse::default();
            }
            false
        }
        // Loads and stores of SIMD registers have bit 26 set: of 16 bytes with size 0 and opc 1x; pairs with opc 2.
        C::LDST_POS | C::LDST_IMM9 | C::LDST_REGOFF | C::LDST_UNSCALED
            if word & 0xc480_0000 == 0x0480_0000 =>
        {
            return VectorUse { width: VectorWidth::Bits128, computes: false };
        }
        C::LDSTPAIR_OFF | C::LDSTPAIR_INDEXED | C::LDSTNAPAIR_OFFS if word & 0xc400_0000 == 0x8400_0000 => {
            return VectorUse { width: VectorWidth::Bits128, computes: false };
        }
        _ => return VectorUse::default(),
    };
    VectorUse { width, computes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_code_uses_no_vectors_and_moves_compute_nothing() {
        let (full, none) = (VectorWidth::Bits128, VectorWidth::None);
        for (word, width, computes) in [
            (0x1e61_2800_u32, none, false),             // fadd d0, d0, d1
            (0x4e61_d400, full, true),                  // fadd v0.2d, v0.2d, v1.2d
            (0x0e21_d400, VectorWidth::Bits64, true),   // fadd v0.2s, v0.2s, v1.2s
            (0x4ea1_1c20, full, false),                 // mov v0.16b, v1.16b
            (0x3dc0_0000, full, false),                 // ldr q0, [x0]
            (0xfd40_0000, none, false),                 // ldr d0, [x0]
            (0xad40_0400, full, false),                 // ldp q0, q1, [x0]
            (0x8b01_0000, none, false),                 // add x0, x0, x1
            (0x65c0_0020, VectorWidth::Scalable, true), // fadd z0.d, z1.d, z0.d
        ] {
            assert_eq!(vector_use(&word.to_le_bytes()), VectorUse { width, computes }, "{word:#010x}");
        }
    }
}

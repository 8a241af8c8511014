//! What A64 instructions compute on data, by the decoder's definitions (DDI 0487, chapters C7 and C8).
//!
//! In: a word. Out: [`Arithmetic`]. The width of an Advanced SIMD instruction is its Q bit's.

use super::summary::define;
use crate::insn::arithmetic::{Arithmetic, SCALABLE, Work};
use disarm64_defn::InsnClass as C;

/// What the first instruction of `code` computes on data.
pub fn arithmetic(code: &[u8]) -> Option<Arithmetic> {
    let word = u32::from_le_bytes(*code.first_chunk::<4>()?);
    if may_be(word) { of_word(word) } else { None }
}

/// Whether a word may be arithmetic of a kind recognised here: a quick test that leaves out most others.
pub(super) const fn may_be(word: u32) -> bool {
    may_be_vector(word) || may_be_scalar(word)
}

/// Advanced SIMD data processing, and SVE's integer and floating-point groups (DDI 0487 C4.1.96, C4.1.34).
pub(super) const fn may_be_vector(word: u32) -> bool {
    word & 0x9e00_0000 == 0x0e00_0000
        || matches!(word >> 24, 0x04 | 0x05 | 0x24 | 0x25 | 0x44 | 0x45 | 0x64 | 0x65)
}

/// Floating point of one number, and multiplication of general registers.
pub(super) const fn may_be_scalar(word: u32) -> bool {
    word & 0x7f00_0000 == 0x1b00_0000
        || word & 0xff00_0000 == 0x1f00_0000
        || word & 0xff20_0000 == 0x1e20_0000
}

fn of_word(word: u32) -> Option<Arithmetic> {
    let definition = define(word)?.definition;
    let whole = if word >> 30 & 1 == 1 { 128 } else { 64 };
    let bits = match definition.class {
        C::ASIMDSAME
        | C::ASIMDDIFF
        | C::ASIMDELEM
        | C::ASIMDSHF
        | C::ASIMDMISC
        | C::ASIMDALL
        | C::DOTPRODUCT => whole,
        C::FLOATDP1 | C::FLOATDP2 | C::FLOATDP3 | C::FPRCVTINT2FLOAT | C::FPRCVTFLOAT2INT | C::DP_3SRC => 0,
        C::FLOAT2INT => 0,
        _ if may_be_vector(word) && word & 0x9e00_0000 != 0x0e00_0000 => SCALABLE,
        _ => return None,
    };
    let name = definition.mnemonic;
    if definition.class == C::DP_3SRC {
        // `mul` is `madd` with the zero register.
        return Some(Arithmetic { work: Work::Multiply, is_float: false, is_double: false, bits });
    }
    let (is_float, rest) = match name.strip_prefix('f') {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    let is_float = is_float || matches!(name, "scvtf" | "ucvtf");
    // The field `type`, `sz` or `size`.
    let is_double = is_float && word >> 22 & 1 == 1;
    Some(Arithmetic { work: work(rest)?, is_float, is_double, bits })
}

/// The kind of work by the name, without the `f` of floating point. Of widening and saturating forms (`umlal`,
/// `sqadd`) the letters in front say how, not what.
fn work(name: &str) -> Option<Work> {
    let plain = match name.as_bytes() {
        [b'u' | b's', b'q', ..] if name.len() > 4 => name.get(2..).unwrap_or(name),
        [b'u' | b's', ..] if !matches!(name, "sub" | "shl" | "sri" | "sli" | "sqrt" | "subr" | "subhn") => {
            name.get(1..).unwrap_or(name)
        }
        _ => name,
    };
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| plain.starts_with(prefix));
    Some(match plain {
        // SVE: counts of elements and addresses, no data.
        "addvl" | "addpl" | "adr" | "abal" if name != "uabal" && name != "sabal" => return None,
        _ if starts(&[
            "mla", "mls", "madd", "msub", "nmadd", "nmsub", "nmla", "nmls", "dot", "mad", "msb",
        ]) =>
        {
            Work::MultiplyAdd
        }
        _ if starts(&["mul", "nmul", "rdmul", "dmul", "mull"]) => Work::Multiply,
        _ if starts(&["div", "recp"]) => Work::Divide,
        _ if starts(&["sqrt", "rsqrt"]) => Work::Root,
        _ if starts(&["max", "min", "abs"]) => Work::MinMax,
        _ if starts(&["add", "sub", "neg", "aba", "abd", "hadd", "rhadd", "hsub"]) => Work::Add,
        _ if starts(&["and", "orr", "eor", "bic", "orn", "bsl", "bit", "bif", "not"]) => Work::Logic,
        _ if starts(&["shl", "shr", "sra", "rshr", "rsra", "sli", "sri", "lsl", "lsr", "asr", "rshl"]) => {
            Work::Shift
        }
        _ if starts(&["cm", "ac"]) => Work::Compare,
        _ if starts(&["cvt"]) => Work::Convert,
        _ => return None,
    })
}

//! A64 instructions as text.
//!
//! In: a word and its address. Out: the text with the preferred alias of DDI 0487, chapter C6 (`cmp`, `mov`, `cset`,
//! `lsl` and the like), as GNU objdump writes it. The decoder's formatter writes operands; it always emits the primary
//! mnemonic, so the aliases are chosen here, from the fields of the word. Operands of SVE and SME that it cannot write
//! are `…`.

use super::fields::bits;
use super::summary;
use crate::address::Svma;
use disarm64::{InsnDisplay, decoder};
use disarm64_defn::{InsnClass as C, InsnFeatureSet as F};
use std::fmt::Write;

/// The text of the first word of `code`; `None` if it is no instruction.
pub fn disassemble(code: &[u8], svma: Svma) -> Option<String> {
    let word = u32::from_le_bytes(*code.first_chunk::<4>()?);
    let definition = summary::define(word)?.definition;
    let mut text = String::new();
    // A formatter that gives up leaves what it has written: at least the mnemonic.
    let _ = write!(text, "{}", decoder::decode(word)?.display_at(svma.0));
    let (mnemonic, operands) = text.split_once(char::is_whitespace).unwrap_or((text.as_str(), ""));
    let plain = Text { mnemonic: mnemonic.to_owned(), operands: split(operands) };
    let text = match definition.class {
        _ if summary::is_hint(word) => plain,
        class => plain.preferred(word, class, definition.feature_set),
    };
    Some(text.joined())
}

/// A mnemonic and its operands.
struct Text {
    mnemonic: String,
    operands: Vec<String>,
}

/// Splits at commas outside brackets and braces; a shift or an extension stays with the operand before it.
fn split(operands: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut depth = 0;
    let mut part = String::new();
    for c in operands.trim().replace("{ ", "{").replace(" }", "}").chars() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
    }
    parts.push(part);
    let mut joined: Vec<String> = Vec::new();
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        // What the formatter cannot write it names between colons: `:SVE_Pd:`.
        let part = if part.starts_with(':') { "…" } else { part };
        match joined.last_mut() {
            Some(before) if is_modifier(part) => {
                before.push_str(", ");
                before.push_str(part);
            }
            _ => joined.push(part.to_owned()),
        }
    }
    joined
}

/// Whether it says how the operand before it is taken: `lsl #3`, `uxtw`, `mul #4`.
fn is_modifier(part: &str) -> bool {
    const WORDS: [&str; 14] = [
        "lsl", "lsr", "asr", "ror", "msl", "uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx",
        "mul",
    ];
    WORDS.contains(&part.split(' ').next().unwrap_or(part))
}

/// A general register by number; 31 is the zero register.
fn general(number: u32, is_wide: bool) -> String {
    match (number & 31, is_wide) {
        (31, true) => "xzr".to_owned(),
        (31, false) => "wzr".to_owned(),
        (n, true) => format!("x{n}"),
        (n, false) => format!("w{n}"),
    }
}

/// The name of a condition and of its opposite, by the encoding.
const CONDITIONS: [&str; 16] =
    ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"];

/// The opposite of a condition.
fn opposite(condition: u32) -> String {
    CONDITIONS.get(condition as usize ^ 1).map_or("", |name| name).to_owned()
}

impl Text {
    fn joined(self) -> String {
        if self.operands.is_empty() {
            self.mnemonic
        } else {
            format!("{} {}", self.mnemonic, self.operands.join(", "))
        }
    }

    fn renamed(mut self, mnemonic: &str) -> Text {
        mnemonic.clone_into(&mut self.mnemonic);
        self
    }

    /// Another mnemonic, without one of the operands.
    fn without(mut self, mnemonic: &str, operand: usize) -> Text {
        if operand < self.operands.len() {
            self.operands.remove(operand);
        }
        self.renamed(mnemonic)
    }

    fn with(self, mnemonic: &str, operands: Vec<String>) -> Text {
        Text { operands, ..self }.renamed(mnemonic)
    }

    /// The preferred alias.
    fn preferred(self, word: u32, class: C, features: F) -> Text {
        let (rd, rn, rm) = (bits(word, 4, 0), bits(word, 9, 5), bits(word, 20, 16));
        let sets_flags = bits(word, 29, 29) == 1;
        let subtracts = bits(word, 30, 30) == 1;
        match class {
            C::ADDSUB_IMM | C::ADDSUB_SHIFT | C::ADDSUB_EXT if features == F::V8 => {
                let is_shift = class == C::ADDSUB_SHIFT;
                if sets_flags && rd == 31 {
                    self.without(if subtracts { "cmp" } else { "cmn" }, 0)
                } else if is_shift && subtracts && rn == 31 {
                    self.without(if sets_flags { "negs" } else { "neg" }, 1)
                } else if class == C::ADDSUB_IMM
                    && word & 0x7fff_fc00 == 0x1100_0000
                    && (rd == 31 || rn == 31)
                {
                    // add with immediate 0, to or from the stack pointer
                    self.without("mov", 2)
                } else {
                    self
                }
            }
            C::ADDSUB_CARRY if subtracts && rn == 31 => {
                self.without(if sets_flags { "ngcs" } else { "ngc" }, 1)
            }
            C::LOG_SHIFT => match (bits(word, 30, 29), bits(word, 21, 21)) {
                (1, 0) if rn == 31 && word & 0x00c0_fc00 == 0 => self.without("mov", 1),
                (1, 1) if rn == 31 => self.without("mvn", 1),
                (3, 0) if rd == 31 => self.without("tst", 0),
                _ => self,
            },
            C::LOG_IMM => match bits(word, 30, 29) {
                1 if rn == 31 && !is_wide_move(word) => self.without("mov", 1),
                3 if rd == 31 => self.without("tst", 0),
                _ => self,
            },
            C::MOVEWIDE => self.wide_move(word),
            C::BITFIELD => self.bitfield(word),
            C::EXTRACT if rn == rm => self.without("ror", 2),
            C::CONDSEL => self.select(word),
            C::DP_2SRC => match self.mnemonic.as_str() {
                "lslv" => self.renamed("lsl"),
                "lsrv" => self.renamed("lsr"),
                "asrv" => self.renamed("asr"),
                "rorv" => self.renamed("ror"),
                _ => self,
            },
            C::DP_3SRC if bits(word, 14, 10) == 31 => match self.mnemonic.as_str() {
                "madd" => self.without("mul", 3),
                "msub" => self.without("mneg", 3),
                "smaddl" => self.without("smull", 3),
                "umaddl" => self.without("umull", 3),
                "smsubl" => self.without("smnegl", 3),
                "umsubl" => self.without("umnegl", 3),
                _ => self,
            },
            // Without acquire and with the old value thrown away: stadd and the like.
            C::LSE_ATOMIC if rd == 31 && bits(word, 23, 23) == 0 && self.mnemonic.starts_with("ld") => {
                let mnemonic = self.mnemonic.replacen("ld", "st", 1);
                self.without(&mnemonic, 1)
            }
            _ => self.vector(word, class),
        }
    }

    /// `movz`, `movn` and `movk`, C6.2 "MOV (wide immediate)", "MOV (inverted wide immediate)".
    fn wide_move(self, word: u32) -> Text {
        let is_wide = bits(word, 31, 31) == 1;
        let (shift, immediate) = (bits(word, 22, 21) * 16, u64::from(bits(word, 20, 5)));
        let value = immediate << shift;
        let is_alias = immediate != 0 || shift == 0;
        let rd = general(bits(word, 4, 0), is_wide);
        let value = match bits(word, 30, 29) {
            2 if is_alias => value,
            0 if is_alias && is_wide => !value,
            0 if is_alias && immediate != 0xffff => u64::from(!(value as u32)),
            _ => {
                let mut operand = format!("#{immediate:#x}");
                if shift != 0 {
                    operand.push_str(&format!(", lsl #{shift}"));
                }
                let mnemonic = self.mnemonic.clone();
                return self.with(&mnemonic, vec![rd, operand]);
            }
        };
        self.with("mov", vec![rd, format!("#{value:#x}")])
    }

    /// `sbfm`, `bfm` and `ubfm`, which have no preferred form of their own.
    fn bitfield(self, word: u32) -> Text {
        let is_wide = bits(word, 31, 31) == 1;
        let width = if is_wide { 64 } else { 32 };
        let (immr, imms) = (bits(word, 21, 16), bits(word, 15, 10));
        let (rd, rn) = (bits(word, 4, 0), bits(word, 9, 5));
        let (to, from) = (general(rd, is_wide), general(rn, is_wide));
        let number = |n: u32| format!("#{n}");
        let insert = |text: Text, mnemonic: &str| {
            let operands = vec![to.clone(), from.clone(), number(width - immr), number(imms + 1)];
            text.with(mnemonic, operands)
        };
        let extract = |text: Text, mnemonic: &str| {
            let operands =
                vec![to.clone(), from.clone(), number(immr), number(imms.saturating_sub(immr) + 1)];
            text.with(mnemonic, operands)
        };
        let shift = |text: Text, mnemonic: &str, by: u32| {
            text.with(mnemonic, vec![to.clone(), from.clone(), number(by)])
        };
        let extend = |text: Text, mnemonic: &str| text.with(mnemonic, vec![to.clone(), general(rn, false)]);
        match bits(word, 30, 29) {
            0 if imms == width - 1 => shift(self, "asr", immr),
            0 if imms < immr => insert(self, "sbfiz"),
            0 if immr == 0 && imms == 7 => extend(self, "sxtb"),
            0 if immr == 0 && imms == 15 => extend(self, "sxth"),
            0 if immr == 0 && imms == 31 => extend(self, "sxtw"),
            0 => extract(self, "sbfx"),
            1 if imms < immr && rn == 31 => {
                self.with("bfc", vec![to.clone(), number(width - immr), number(imms + 1)])
            }
            1 if imms < immr => insert(self, "bfi"),
            1 => extract(self, "bfxil"),
            2 if imms == width - 1 => shift(self, "lsr", immr),
            2 if imms + 1 == immr => shift(self, "lsl", width - immr),
            2 if imms < immr => insert(self, "ubfiz"),
            2 if !is_wide && immr == 0 && imms == 7 => extend(self, "uxtb"),
            2 if !is_wide && immr == 0 && imms == 15 => extend(self, "uxth"),
            2 => extract(self, "ubfx"),
            _ => self,
        }
    }

    /// `csel` and its forms.
    fn select(self, word: u32) -> Text {
        let is_wide = bits(word, 31, 31) == 1;
        let (rd, rn, rm) = (bits(word, 4, 0), bits(word, 9, 5), bits(word, 20, 16));
        let condition = bits(word, 15, 12);
        if condition >= 14 || rn != rm {
            return self;
        }
        let (to, from, condition) = (general(rd, is_wide), general(rn, is_wide), opposite(condition));
        match (bits(word, 30, 30), bits(word, 10, 10)) {
            (0, 1) if rn == 31 => self.with("cset", vec![to, condition]),
            (1, 0) if rn == 31 => self.with("csetm", vec![to, condition]),
            (0, 1) => self.with("cinc", vec![to, from, condition]),
            (1, 0) => self.with("cinv", vec![to, from, condition]),
            (1, 1) => self.with("cneg", vec![to, from, condition]),
            _ => self,
        }
    }

    /// Aliases of Advanced SIMD, and what the formatter gets wrong there: it takes the size of some operands, and the
    /// number of structures, from the wrong field.
    fn vector(mut self, word: u32, class: C) -> Text {
        let (rn, rm, size) = (bits(word, 9, 5), bits(word, 20, 16), bits(word, 23, 22));
        match (class, self.mnemonic.as_str()) {
            (C::ASIMDSAME, "orr") if rn == rm => self.without("mov", 2),
            (C::ASIMDMISC, "not") => self.renamed("mvn"),
            (C::ASIMDINS, "ins") => {
                // ins v0.d[1], x0: general when bit 29 is clear, 64 bits when imm5 is x1000.
                if bits(word, 29, 29) == 0 {
                    self.replace(1, general(rn, bits(word, 19, 16) == 8));
                }
                self.renamed("mov")
            }
            (C::ASIMDINS, "umov") if bits(word, 17, 16) == 0 => self.renamed("mov"),
            (C::ASIMDSHF, "ushll" | "ushll2" | "sshll" | "sshll2")
                if bits(word, 18, 16) == 0 && bits(word, 22, 19).count_ones() == 1 =>
            {
                let mnemonic = self.mnemonic.replace("shll", "xtl");
                self.without(&mnemonic, 2)
            }
            (C::ASIMDIMM, _) => {
                self.operands = self.operands.iter().map(|operand| operand.to_lowercase()).collect();
                self
            }
            (C::ASISDLSE | C::ASISDLSEP, _) => {
                let structures = match bits(word, 15, 12) {
                    0 => 4,
                    4 => 3,
                    8 => 2,
                    _ => 1,
                };
                let direction = if bits(word, 22, 22) == 1 { "ld" } else { "st" };
                self.renamed(&format!("{direction}{structures}"))
            }
            (C::ASISDLSO | C::ASISDLSOP, _) if bits(word, 30, 30) == 1 => {
                self.operands = self.operands.iter().map(|operand| operand.replace(".1d", ".2d")).collect();
                self
            }
            (C::ASISDPAIR, _) if size & 1 == 1 => {
                self.operands = self.operands.iter().map(|operand| operand.replace(".2s", ".2d")).collect();
                self
            }
            (C::ASIMDALL, name) if name.starts_with('f') && bits(word, 29, 29) == 1 => {
                self.replace(0, format!("s{}", bits(word, 4, 0)));
                self.replace(1, format!("v{rn}.4s"));
                self
            }
            (C::ASISDONE, "dup") => {
                // The lowest bit of imm5 that is set says which size.
                let letter = ["b", "h", "s", "d"].get(bits(word, 20, 16).trailing_zeros() as usize);
                self.replace(0, format!("{}{}", letter.copied().unwrap_or("?"), bits(word, 4, 0)));
                self.renamed("mov")
            }
            (C::FLOATDP1, "fcvt") => {
                let letter = |field: u32| ["s", "d", "?", "h"].get(field as usize).copied().unwrap_or("?");
                self.replace(0, format!("{}{}", letter(bits(word, 16, 15)), bits(word, 4, 0)));
                self.replace(1, format!("{}{rn}", letter(size)));
                self
            }
            (C::ASISDSHF, "scvtf" | "ucvtf" | "fcvtzs" | "fcvtzu") => {
                let letter = if bits(word, 22, 22) == 1 { "d" } else { "s" };
                self.replace(0, format!("{letter}{}", bits(word, 4, 0)));
                self.replace(1, format!("{letter}{rn}"));
                self
            }
            (C::BRANCH_REG, "ret") if rn == 30 => self.with("ret", Vec::new()),
            (C::IC_SYSTEM, "sys") => match cache_operation(word) {
                Some((mnemonic, operation)) => {
                    let register = general(bits(word, 4, 0), true);
                    self.with(mnemonic, vec![operation.to_owned(), register])
                }
                None => self,
            },
            _ => self,
        }
    }

    fn replace(&mut self, operand: usize, by: String) {
        if let Some(operand) = self.operands.get_mut(operand) {
            *operand = by;
        }
    }
}

/// The cache maintenance that user code may do: `dc` and `ic`, by op1, CRn, CRm and op2 (C5.3, C5.4).
fn cache_operation(word: u32) -> Option<(&'static str, &'static str)> {
    match (bits(word, 18, 16), bits(word, 15, 12), bits(word, 11, 8), bits(word, 7, 5)) {
        (3, 7, 4, 1) => Some(("dc", "zva")),
        (3, 7, 4, 3) => Some(("dc", "gva")),
        (3, 7, 4, 4) => Some(("dc", "gzva")),
        (3, 7, 10, 1) => Some(("dc", "cvac")),
        (3, 7, 11, 1) => Some(("dc", "cvau")),
        (3, 7, 12, 1) => Some(("dc", "cvap")),
        (3, 7, 14, 1) => Some(("dc", "civac")),
        (3, 7, 5, 1) => Some(("ic", "ivau")),
        _ => None,
    }
}

/// Whether `movz` or `movn` could make the value of a logical immediate, so that `orr` keeps its name
/// (C6.2, MoveWidePreferred).
fn is_wide_move(word: u32) -> bool {
    let (width, immr, imms) = (if word >> 31 == 1 { 64 } else { 32 }, bits(word, 21, 16), bits(word, 15, 10));
    let is_one_run =
        if width == 64 { bits(word, 22, 22) == 1 } else { bits(word, 22, 22) == 0 && imms & 0x20 == 0 };
    if !is_one_run {
        return false;
    }
    if imms < 16 {
        return (16 - immr % 16) % 16 <= 15 - imms;
    }
    imms >= width - 15 && immr % 16 <= imms - (width - 15)
}

#[cfg(test)]
mod tests {
    use super::disassemble;
    use crate::address::Svma;

    fn text(word: u32) -> String {
        disassemble(&word.to_le_bytes(), Svma(0x1000)).unwrap()
    }

    #[test]
    fn preferred_aliases_are_written() {
        for (word, expected) in [
            (0xaa01_03e0, "mov x0, x1"),
            (0x9100_03fd, "mov x29, sp"),
            (0x1280_0000, "mov w0, #0xffffffff"),
            (0xd2a0_0020, "mov x0, #0x10000"),
            (0xf2c0_0020, "movk x0, #0x1, lsl #32"),
            (0xb200_f3e0, "mov x0, #0x5555555555555555"),
            (0x7100_041f, "cmp w0, #0x1"),
            (0xeb20_c03f, "cmp x1, w0, sxtw"),
            (0xeb01_0c1f, "cmp x0, x1, lsl #3"),
            (0x6a01_001f, "tst w0, w1"),
            (0xcb01_03e0, "neg x0, x1"),
            (0x2a21_03e0, "mvn w0, w1"),
            (0x1a9f_17e0, "cset w0, eq"),
            (0xda9f_13e0, "csetm x0, eq"),
            (0x1a81_0420, "cinc w0, w1, ne"),
            (0xd37d_f020, "lsl x0, x1, #3"),
            (0x5303_7c20, "lsr w0, w1, #3"),
            (0x9343_fc20, "asr x0, x1, #3"),
            (0x93c1_0c20, "ror x0, x1, #3"),
            (0x1ac2_2020, "lsl w0, w1, w2"),
            (0x5300_1c20, "uxtb w0, w1"),
            (0x9340_7c20, "sxtw x0, w1"),
            (0xd344_1c20, "ubfx x0, x1, #4, #4"),
            (0xb37c_0c20, "bfi x0, x1, #4, #4"),
            (0x9b02_7c20, "mul x0, x1, x2"),
            (0xd65f_03c0, "ret"),
            (0xb820_003f, "stadd w0, [x1]"),
            (0xb8e0_0022, "ldaddal w0, w2, [x1]"),
            (0x885f_fc02, "ldaxr w2, [x0]"),
            (0xa9bf_7bfd, "stp x29, x30, [sp, #-16]!"),
            (0x5400_0041, "b.ne 0x1008"),
            (0x9400_0002, "bl 0x1008"),
            (0x3707_ffe0, "tbnz w0, #0, 0xffc"),
            (0xd503_201f, "nop"),
            (0xd503_3bbf, "dmb ish"),
            (0x1e22_c041, "fcvt d1, s2"),
            (0x4ea1_1c20, "mov v0.16b, v1.16b"),
            (0x4e18_1c20, "mov v0.d[1], x1"),
            (0x4c40_8020, "ld2 {v0.16b, v1.16b}, [x1]"),
        ] {
            assert_eq!(text(word), expected, "{word:#010x}");
        }
    }

    #[test]
    fn what_is_no_instruction_has_no_text() {
        assert_eq!(disassemble(&[0xff; 4], Svma(0)), None);
        assert_eq!(disassemble(&[0xc0, 0x03, 0x5f], Svma(0)), None);
    }
}

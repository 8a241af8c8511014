//! All facts of one instruction.
use super::super::Insn;
use crate::address::Svma;
/// Decodes the first instruction of `code`.
pub fn decode(_code: &[u8], _svma: Svma) -> Option<Insn> {
    None
}

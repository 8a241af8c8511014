//! Landing pads: tables for unwinding by which an exception gets to a label of the function.
//!
//! In: a label. Out: directives around the function, and its table. Nothing is thrown when the programs run.

use super::pen::Pen;

/// The encodings of the ABI for what a position-independent file can have: a personality by a pointer beside the file's code, a
/// table by its distance (`DW_EH_PE_indirect | pcrel | sdata4`, `pcrel | sdata4`).
const ENCODINGS: [u8; 2] = [0x9b, 0x1b];

/// What comes after the function's label; `.cfi_endproc` comes at its end.
pub(super) fn opened(pen: &mut Pen, function: &str, pad: &str) -> String {
    let [table, sites, end] = [(); 3].map(|()| pen.label());
    // No type table, call sites in uleb128: one that begins at the function, as long as an instruction.
    pen.other += &format!(
        "\t.section .gcc_except_table, \"a\"\n{table}:\t.byte 0xff, 0xff, 1\n\t.uleb128 {end} - {sites}\n\
         {sites}:\t.uleb128 0\n\t.uleb128 4\n\t.uleb128 {pad} - {function}\n\t.uleb128 0\n{end}:\n\t.text\n"
    );
    let [personality, lsda] = ENCODINGS;
    format!(
        "\t.cfi_startproc\n\t.cfi_personality {personality:#x}, personality_reference\n\t.cfi_lsda {lsda:#x}, {table}\n"
    )
}

/// What the programs of a file name as their personality.
pub(super) const PERSONALITY: &str = "\t.text\n\t.type personality, %function\npersonality:\tmov x0, #8\n\tret\n\
     \t.size personality, . - personality\n\
     \t.section .data.rel.ro, \"aw\"\n\t.balign 8\npersonality_reference:\t.quad personality\n";

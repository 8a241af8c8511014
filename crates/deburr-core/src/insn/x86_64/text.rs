//! x86-64 instructions as text, by the formatters of iced-x86 with the options that make them write as GNU objdump
//! does.

use super::decoder::{BITNESS, OPTIONS};
use crate::address::Svma;
use crate::insn::text::Syntax;
use iced_x86::{
    Decoder, Formatter, FormatterOptions, GasFormatter, Instruction, IntelFormatter, MemorySizeOptions,
};

/// The text of the first instruction of `code`; `None` if it is not one.
pub fn disassemble(code: &[u8], svma: Svma, syntax: Syntax) -> Option<String> {
    let mut insn = Instruction::default();
    Decoder::with_ip(BITNESS, code, svma.0, OPTIONS).decode_out(&mut insn);
    if insn.is_invalid() {
        return None;
    }
    let mut text = String::new();
    match syntax {
        Syntax::Att => {
            let mut formatter = GasFormatter::new();
            set(formatter.options_mut());
            formatter.format(&insn, &mut text);
            // Where the scale is always shown, the comma in front of a missing index is left.
            text = text.replace(",)", ")");
        }
        Syntax::Intel => {
            let mut formatter = IntelFormatter::new();
            set(formatter.options_mut());
            formatter.options_mut().set_memory_size_options(MemorySizeOptions::Always);
            formatter.options_mut().set_uppercase_keywords(true);
            formatter.format(&insn, &mut text);
        }
    }
    Some(text)
}

fn set(options: &mut FormatterOptions) {
    options.set_uppercase_hex(false);
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_show_branch_size(false);
    options.set_always_show_scale(true);
    options.set_rip_relative_addresses(true);
    options.set_space_after_operand_separator(false);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_syntaxes_are_written_as_objdump_does() {
        for (code, att, intel) in [
            // mov rbp, rsp
            (&[0x48, 0x89, 0xe5][..], "mov %rsp,%rbp", "mov rbp,rsp"),
            // lock cmpxchg [rdi], rdx
            (&[0xf0, 0x48, 0x0f, 0xb1, 0x17], "lock cmpxchg %rdx,(%rdi)", "lock cmpxchg QWORD PTR [rdi],rdx"),
            // jne 0x1000 - 2
            (&[0x75, 0xfc], "jne 0xffe", "jne 0xffe"),
            // lea rax, [rip + 0x10]
            (&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0], "lea 0x10(%rip),%rax", "lea rax,[rip+0x10]"),
            // mov eax, [rax + rbx]
            (&[0x8b, 0x04, 0x18], "mov (%rax,%rbx,1),%eax", "mov eax,DWORD PTR [rax+rbx*1]"),
        ] {
            assert_eq!(disassemble(code, Svma(0x1000), Syntax::Att).as_deref(), Some(att));
            assert_eq!(disassemble(code, Svma(0x1000), Syntax::Intel).as_deref(), Some(intel));
        }
        assert_eq!(disassemble(&[0x48], Svma(0), Syntax::Att), None);
    }
}

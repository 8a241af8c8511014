//! Prints the table of the sweep's decoder for x86-64, made from what iced-x86 decodes: `cargo xtask x86-tables` writes it.

#![expect(clippy::print_stdout, reason = "an example for developers")]

use deburr_core::insn::x86_64::quick_table;

fn main() {
    print!("{}", quick_table());
}

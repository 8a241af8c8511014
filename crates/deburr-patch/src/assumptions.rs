//! Patch stage: what is assumed of a file and of what it runs with, where a change is called the same.
//!
//! In: nothing. Out: the list that `docs/reference/fix.md` has under *Assumptions*, one sentence each.

/// What no proof shows, and every proof rests on.
pub const ASSUMPTIONS: &[&str] = &[
    "A store-exclusive eventually succeeds; a loop that ends only because one fails becomes endless.",
    "Memory is normal and writable wherever an atomic accesses it, also where a compare-and-swap fails.",
    "Nothing enters code at an address that is computed from a return address, from the global offset table plus an offset, or \
     in data at run time.",
    "A jump table whose length no instruction states ends where the next address begins that code makes or a relocation has, or \
     before the first entry that does not lead into its function.",
    "What no instruction of a function has the address of, in its frame, only that function's own stores change.",
    "Data between instructions, in a file at a fixed address, have an address of code in 4 bytes only at a multiple of 4.",
    "Code is neither read as data nor changed while it runs.",
    "Code outside of the file follows AAPCS64, relies on no register that this lets a function overwrite, except for those that \
     a function leaves alone, and calls functions at their symbols or at addresses that the file hands out.",
    "Code outside of the file does not rely on a barrier inside of it for cache maintenance, memory tags or translation tables.",
    "Code outside of the file does not wait with wfe for a monitor that was armed inside of it, nor store with it.",
    "A function that is called through a pointer does not leave its monitor armed for its caller to use.",
    "A system call reads x0 to x8 at most and keeps what it does not return.",
    "A linker's veneer may overwrite x16 and x17 at any call.",
    "The tables that a file has of its own entries (symbols, relocations, unwind and exception tables) are right.",
];

#[cfg(test)]
mod tests {
    use super::ASSUMPTIONS;

    #[test]
    fn the_documentation_has_the_same_list() {
        let page = include_str!("../../../docs/reference/fix.md").replace("\n  ", " ");
        for assumption in ASSUMPTIONS {
            assert!(page.contains(&format!("- {assumption}\n")), "{assumption}");
        }
    }
}

//! Edits of symbol tables and names. Each says whether it changed the file.

use crate::bench::Bench;
use crate::file::{Part, SHDR, SHT_DYNSYM, SHT_STRTAB, SHT_SYMTAB, SYMBOL};

/// Names that deburr gives a meaning, or that linkers do.
const NAMES: [&[u8]; 28] = [
    b"$x",
    b"$d",
    b"$d.1",
    b"main",
    b"_start",
    b"_init",
    b"memcpy",
    b"getauxval",
    b"__getauxval",
    b"__init_cpu_features",
    b"__init_cpu_features_resolver",
    b"__cpu_model",
    b"__cpu_indicator_init",
    b"__cpu_features2",
    b"__aarch64_have_lse_atomics",
    b"__aarch64_cas4_acq_rel",
    b"__aarch64_ldadd4_relax",
    b"__aarch64_swp8_acq",
    b"__aarch64_cpu_features",
    b"_rtld_global_ro",
    b"__x86_get_cpuid_feature_leaf",
    b"_dl_x86_get_cpu_features",
    b"elf_aux_info",
    b"sigaction",
    b"__sigsetjmp",
    b"f.cold",
    b"f.avx2",
    b"_ZN4core3f17h0123456789abcdefE",
];

fn tables(bench: &Bench<'_>) -> Vec<Part> {
    bench.file.of_kind(&[SHT_SYMTAB, SHT_DYNSYM]).collect()
}

/// A field of a symbol.
pub(crate) fn field(bench: &mut Bench<'_>) -> bool {
    let tables = tables(bench);
    let Some(symbol) = bench.pick(&tables).and_then(|table| bench.entry(table, SYMBOL)) else {
        return false;
    };
    match bench.random.below(8) {
        0 => {
            // Type: object, function, section, file, TLS, ifunc; binding: local, global, weak, unique.
            let kind = bench.random.one_of(&[0, 1, 2, 3, 4, 6, 10]);
            let binding = bench.random.one_of(&[0, 1, 2, 10]);
            bench.write(symbol + 4, 1, binding << 4 | kind)
        }
        1 => {
            let visibility = bench.random.below(4) as u64;
            bench.write(symbol + 5, 1, visibility)
        }
        2 => {
            let count = bench.file.section_headers.size / SHDR;
            let any = bench.random.below(count + 1) as u64;
            let section = bench.random.one_of(&[0, 0xfff1, 0xfff2, 0xffff, 1, any]);
            bench.write(symbol + 6, 2, section)
        }
        3 | 4 => {
            let old = bench.read(symbol + 16, 8);
            let size = if bench.random.once_in(3) {
                bench.value(old)
            } else {
                old.wrapping_add(4 * bench.random.below(9) as u64).wrapping_sub(16)
            };
            bench.write(symbol + 16, 8, size)
        }
        5 => {
            let name = bench.entry(tables.first().copied().unwrap_or_default(), SYMBOL).unwrap_or(symbol);
            let name = bench.read(name, 4);
            bench.write(symbol, 4, name)
        }
        _ => {
            let value = place(bench);
            bench.write(symbol + 8, 8, value)
        }
    }
}

/// A value of a symbol: in a relocatable object an offset, elsewhere an address.
fn place(bench: &mut Bench<'_>) -> u64 {
    let address = bench.address();
    if bench.file.is_relocatable { bench.random.below(address as usize & 0xffff) as u64 } else { address }
}

/// Symbols copied, swapped or removed.
pub(crate) fn rearrange(bench: &mut Bench<'_>) -> bool {
    let tables = tables(bench);
    let Some(table) = bench.pick(&tables) else { return false };
    bench.rearrange(table, SYMBOL)
}

/// A name in a string table, overwritten by one that has a meaning; what it is longer by overwrites the next.
pub(crate) fn name(bench: &mut Bench<'_>) -> bool {
    let tables: Vec<Part> = bench.file.of_kind(&[SHT_STRTAB]).collect();
    let Some(table) = bench.pick(&tables) else { return false };
    let start = bench.random.below(table.size);
    let ahead = bench.bytes.get(table.at + start..table.end()).unwrap_or_default();
    let after = ahead.iter().position(|&byte| byte == 0).map_or(0, |end| end + 1);
    let Some(new) = bench.random.pick(&NAMES) else { return false };
    let new = [new, &[0][..]].concat();
    let room = table.size.saturating_sub(start + after);
    bench.put(table.at + start + after, new.get(..room.min(new.len())).unwrap_or_default())
}

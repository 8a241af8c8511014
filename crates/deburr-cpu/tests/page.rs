//! The tables of `docs/reference/cpus.md` against the table of CPUs. `DEBURR_RECORD=1` writes them anew.

#![cfg(feature = "names")]

use deburr_cpu::{Arch, Cpu, CpuKind, cpus};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// After this line the page is made by the test.
const MARK: &str = "<!-- The rest is written by crates/deburr-cpu/tests/page.rs. -->\n";

fn table(out: &mut String, heading: &str, arch: Arch, kind: CpuKind) {
    let rows: Vec<&Cpu> = cpus(arch).filter(|cpu| cpu.kind == kind).collect();
    writeln!(out, "\n## {heading}\n").unwrap();
    let columns = match kind {
        CpuKind::Machine => {
            "| name | other names | core | `Features` in /proc/cpuinfo | source |\n|---|---|---|---|---|"
        }
        _ => "| name | other names | features | source |\n|---|---|---|---|",
    };
    writeln!(out, "{columns}").unwrap();
    for cpu in rows {
        let names = cpu.aliases.join(", ");
        let core =
            if kind == CpuKind::Machine { format!(" {} |", cpu.core.unwrap_or("")) } else { String::new() };
        writeln!(out, "| {} | {names} |{core} {} | {} |", cpu.name, cpu.stated, cpu.source).unwrap();
    }
}

#[test]
fn the_page_has_every_row_with_its_source() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cpus.md");
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (head, rest) = page.split_once(MARK).expect("the mark");
    let mut expected = String::new();
    table(&mut expected, "Boards, laptops and cloud machines", Arch::Aarch64, CpuKind::Machine);
    table(&mut expected, "Cores of AArch64", Arch::Aarch64, CpuKind::Core);
    table(&mut expected, "Cores of AArch64 that only compilers list", Arch::Aarch64, CpuKind::Compiler);
    table(&mut expected, "Cores of x86-64", Arch::X86_64, CpuKind::Core);
    table(&mut expected, "Cores of x86-64 that only gcc lists", Arch::X86_64, CpuKind::Compiler);
    if std::env::var_os("DEBURR_RECORD").is_some() {
        fs::write(&path, format!("{head}{MARK}{expected}")).unwrap();
    } else {
        assert_eq!(
            rest, expected,
            "DEBURR_RECORD=1 cargo test -p deburr-cpu --features names writes docs/reference/cpus.md anew"
        );
    }
}

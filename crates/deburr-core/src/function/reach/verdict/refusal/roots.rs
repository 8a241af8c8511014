//! The functions that run when the program starts, or when the library is loaded, whatever its user wants of it.

use crate::address::{CodeOffset, Svma};
use crate::function::reach::file::names;
use crate::function::reach::file::view::View;
use crate::function::reach::verdict::edges::mains;
use crate::function::reach::verdict::unconditional::handed_out;
use crate::image::{ArrayKind, Kind};
use crate::insn::{Operation, Reg};
use std::collections::{BTreeMap, BTreeSet};

/// What it means that such a function comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// All is well: a constructor, or what another function calls.
    Initialiser,
    /// The program ends with the status that it returns.
    Main,
    /// All is well unless it returns no module: `PyInit_…`, `napi_register_module_v…`.
    Module,
    /// All is well if it returns a version: `JNI_OnLoad`.
    Version,
}

/// Those functions, each with its role.
pub(super) fn roots(file: &View<'_, '_>) -> BTreeMap<CodeOffset, Role> {
    let image = file.image;
    let mut roots = BTreeMap::new();
    if image.kind == Kind::Relocatable || image.build.is_linux_kernel {
        return roots;
    }
    let entry = image.entry_point.and_then(|svma| image.code_offset(svma));
    let finishes = |svma| {
        let at = file.linkage.cells.iter().filter(|cell| cell.to == svma);
        at.into_iter().any(|cell| {
            let holds = |(extent, kind): &(crate::address::Extent, ArrayKind)| {
                *kind == ArrayKind::Fini && extent.contains(cell.at)
            };
            image.arrays.iter().any(holds)
        })
    };
    let entries = image.entries.iter().copied().filter(|&svma| !finishes(svma));
    roots.extend(entries.filter_map(|svma| Some((image.code_offset(svma)?, Role::Initialiser))));
    let rusts = mains(file);
    let handed = |entry| {
        handed_out(file, entry).into_iter().chain(handed_in_registers(file, entry)).collect::<BTreeSet<_>>()
    };
    for main in entry.into_iter().flat_map(handed) {
        roots.insert(main, Role::Main);
        if rusts.contains(&main) {
            // Rust's `main` is the function whose address goes to `lang_start`.
            roots.extend(handed_out(file, main).into_iter().map(|start| (start, Role::Initialiser)));
        }
    }
    for export in &file.linkage.named_exports {
        let role = match export.name {
            "JNI_OnLoad" => Role::Version,
            name if names::is_module_entry(name)
                && !name.starts_with("Java_")
                && !name.starts_with("JNI_") =>
            {
                Role::Module
            }
            _ => continue,
        };
        roots.extend(image.code_offset(export.at).map(|start| (start, role)));
    }
    if image.build.is_go {
        roots.extend(go(file).map(|start| (start, Role::Initialiser)));
    }
    roots
}

/// The functions whose addresses the entry point has in registers, as immediates (`mov rdi, offset main`, x86-64 without PIE) or
/// loaded from a cell of a page (`adrp x0, page; ldr x0, [x0, main@got]`, AArch64).
fn handed_in_registers(file: &View<'_, '_>, entry: CodeOffset) -> Vec<CodeOffset> {
    let (image, program) = (file.image, file.program);
    let graph = program.function_from(entry).and_then(|function| file.graph(function));
    let mut handed = Vec::new();
    for block in graph.iter().flat_map(|graph| &graph.blocks) {
        let mut pages: Vec<(Reg, u64)> = Vec::new();
        for insn in &block.insns {
            let page_of = |base: Reg| pages.iter().find(|(reg, _)| *reg == base).map(|(_, page)| *page);
            let read =
                insn.memory.filter(|memory| memory.read && memory.index.is_none() && !memory.write_back);
            let cell = read.and_then(|memory| {
                Some(Svma(page_of(memory.base?)?.wrapping_add_signed(memory.displacement)))
            });
            handed.extend(cell.and_then(|cell| file.linkage.cell(cell)));
            let made = insn.imm.map(|imm| imm as u64);
            match (insn.operation, insn.dst, made) {
                (Operation::Address, Some(dst), Some(page)) => {
                    pages.retain(|(reg, _)| *reg != dst);
                    pages.push((dst, page));
                }
                (operation, Some(dst), made) => {
                    pages.retain(|(reg, _)| *reg != dst);
                    handed.extend(made.filter(|_| operation == Operation::Move).map(Svma));
                }
                _ => {}
            }
        }
    }
    let starts = handed.into_iter().filter_map(|svma| image.code_offset(svma));
    starts.filter(|&start| program.function_from(start).is_some()).collect()
}

/// What Go's runtime runs: `main.main`, and the `init` functions of all packages before it.
fn go<'v>(file: &'v View<'_, '_>) -> impl Iterator<Item = CodeOffset> + 'v {
    let is_run = |name: &str| {
        let init = name.rsplit_once(".init.").map(|(_, number)| number);
        name == "main.main" || init.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let functions = file.program.functions().iter();
    let run = functions.filter(move |function| file.program.name(function, file.image).is_some_and(is_run));
    run.map(|function| function.start)
}

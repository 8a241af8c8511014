//! Whether loading a library makes the processor flush subnormal numbers to zero, for the whole process.
//!
//! In: an image, its functions and its linkage. Out: [`FastMath`], the instruction and what makes it run. gcc links `crtfastmath.o` into
//! what it links with `-ffast-math` (before GCC 13 also into libraries), and that has a constructor which sets FTZ and DAZ of MXCSR
//! (x86-64), or FZ of FPCR (AArch64), and never sets them back (`libgcc/config/i386/crtfastmath.c`, `config/aarch64/crtfastmath.c`). The
//! same is looked for in whatever loading or importing the library runs.

use super::source::Source;
use crate::address::{CodeOffset, Extent, Svma};
use crate::function::Function;
use crate::image::{ArrayKind, Image, Kind};
use crate::insn::{self, Class, Insn, Operation};
use deburr_cpu::Arch;
use std::collections::{HashMap, HashSet};

/// Bits of MXCSR: flush to zero (15), subnormal numbers are zero (6). Intel SDM volume 1, section 10.2.3.
const FLUSH_X86: i64 = 0x8040;
/// MXCSR at start, and its bits for exceptions that have occurred.
const MXCSR: i64 = 0x1f80;
const EXCEPTIONS: i64 = 0x3f;
/// Bit 24 of FPCR: FZ. Arm ARM, C5.2.8.
const FLUSH_AARCH64: i64 = 1 << 24;
/// `msr fpcr, x0`, without the register.
const SET_FPCR: u32 = 0xd51b_4400;
/// Instructions of a function that are looked at: `set_fast_math` has 6.
const MAX_INSTRUCTIONS: usize = 256;
/// Calls from what the loader runs to the function that sets the bits: an initialiser of a module of Python calls it directly.
const MAX_CALLS: usize = 4;

/// A function that loading runs, and that sets the bits for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FastMath {
    /// The instruction that sets them.
    pub(crate) at: Svma,
    /// What runs the function: `an initialiser`, `PyInit__fast`.
    pub(crate) runs: String,
}

impl FastMath {
    /// In a library; a program does it to itself alone.
    pub(crate) fn of(source: &Source<'_, '_>) -> Option<FastMath> {
        let (image, program) = (source.image, source.program);
        if image.kind != Kind::SharedObject || image.build.is_linux_kernel {
            return None;
        }
        let setters: HashMap<CodeOffset, Svma> = places(image)
            .into_iter()
            .filter_map(|at| program.function_at(image.code_offset(at)?))
            .filter_map(|function| Some((function.start, sets_for_good(image, function)?)))
            .collect();
        if setters.is_empty() {
            return None;
        }
        reached(source, roots(source), &setters)
    }
}

/// Where code may change the control register: by bytes, which what follows checks.
fn places(image: &Image<'_>) -> Vec<Svma> {
    let mut found = Vec::new();
    for code in &image.code {
        let at = |index: usize| code.extent.start.offset(index as i64);
        match image.arch {
            // ldmxcsr: 0f ae /2 with memory, or its VEX form.
            Arch::X86_64 => {
                let places = memchr::memchr_iter(0xae, code.bytes).filter(|&index| {
                    let modrm = code.bytes.get(index + 1).copied().unwrap_or(0);
                    let before = index.checked_sub(1).and_then(|before| code.bytes.get(before)).copied();
                    modrm >> 3 & 7 == 2 && modrm >> 6 != 3 && matches!(before, Some(0x0f | 0xf8 | 0x78))
                });
                found.extend(places.map(at));
            }
            Arch::Aarch64 => {
                let words = code.bytes.chunks_exact(4).enumerate();
                let is_set = |word: &[u8]| {
                    word.first_chunk().is_some_and(|word| u32::from_le_bytes(*word) & !0x1f == SET_FPCR)
                };
                found.extend(words.filter(|(_, word)| is_set(word)).map(|(index, _)| at(index * 4)));
            }
        }
    }
    found
}

/// Whether an x86-64 instruction is `ldmxcsr` (2) or `stmxcsr` (3), by the digit of its opcode.
fn mxcsr_digit(image: &Image<'_>, insn: &Insn) -> Option<u8> {
    let bytes = image.bytes_at(insn.svma)?.get(..insn.length.into())?;
    let at = bytes.iter().position(|&byte| byte == 0xae)?;
    let is_opcode = matches!(bytes.get(at.checked_sub(1)?), Some(0x0f | 0xf8 | 0x78));
    let modrm = bytes.get(at + 1)?;
    (is_opcode && modrm >> 6 != 3).then_some(modrm >> 3 & 7).filter(|digit| matches!(digit, 2 | 3))
}

/// The last instruction of a function that changes the control register, if it sets bits that make numbers zero.
fn sets_for_good(image: &Image<'_>, function: &Function) -> Option<Svma> {
    let extent = function.extent(image);
    let mut at = extent.start;
    let mut last = None;
    // What was put into a register or the frame since the control register was read.
    let mut put: Option<i64> = None;
    for _ in 0..MAX_INSTRUCTIONS {
        if !extent.contains(at) {
            break;
        }
        let insn = insn::decode(image.arch, image.bytes_at(at)?, at)?;
        match image.arch {
            Arch::X86_64 => match mxcsr_digit(image, &insn) {
                Some(3) => put = None,
                Some(_) => {
                    let value = constant(image, &insn).or(put);
                    last = Some((at, value.is_some_and(|value| value & FLUSH_X86 != 0)));
                    put = None;
                }
                None => put = flushing(&insn).or(put),
            },
            Arch::Aarch64 => {
                let word = image.word_at(at).unwrap_or(0);
                if word & !0x1f == SET_FPCR {
                    last = Some((at, put.is_some_and(|value| value & FLUSH_AARCH64 != 0)));
                    put = None;
                } else {
                    let is_put = matches!(insn.operation, Operation::Or | Operation::Move);
                    put = insn.imm.filter(|imm| is_put && *imm == FLUSH_AARCH64).or(put);
                }
            }
        }
        at = insn.next();
    }
    last.filter(|&(_, is_set)| is_set).map(|(at, _)| at)
}

/// The bits that an instruction adds to a copy of MXCSR, or a whole value for it that has them.
fn flushing(insn: &Insn) -> Option<i64> {
    let imm = insn.imm?;
    match insn.operation {
        // `or ah, 0x80` changes bit 15.
        Operation::Or if insn.high_byte && insn.width == 1 => {
            Some((imm & 0xff) << 8).filter(|bits| bits & !FLUSH_X86 == 0)
        }
        Operation::Or => Some(imm & 0xffff).filter(|bits| *bits != 0 && bits & !FLUSH_X86 == 0),
        _ if insn.operation == Operation::Move || insn.class == Class::Store => {
            Some(imm).filter(|value| value & !FLUSH_X86 & !EXCEPTIONS == MXCSR)
        }
        _ => None,
    }
}

/// What an instruction loads from constants.
fn constant(image: &Image<'_>, insn: &Insn) -> Option<i64> {
    let memory = insn.memory.as_ref().filter(|memory| memory.is_static)?;
    let at = Svma(memory.displacement.cast_unsigned());
    Some(u32::from_le_bytes(*image.constant(at, 4)?.first_chunk()?).into())
}

/// What loading or importing a library runs, each with its name.
fn roots(source: &Source<'_, '_>) -> Vec<(CodeOffset, String)> {
    let image = source.image;
    let linkage = (source.linkage)();
    let mut found = Vec::new();
    let initialisers: Vec<Extent> =
        image.arrays.iter().filter(|(_, kind)| *kind != ArrayKind::Fini).map(|&(extent, _)| extent).collect();
    let in_arrays = linkage.cells.iter().filter(|cell| initialisers.iter().any(|it| it.contains(cell.at)));
    found.extend(
        in_arrays.filter_map(|cell| Some((image.code_offset(cell.to)?, "an initialiser".to_owned()))),
    );
    let exports = linkage.named_exports.iter().filter(|export| {
        export.name.starts_with("PyInit_") || matches!(export.name, "JNI_OnLoad" | "napi_register_module_v1")
    });
    found.extend(
        exports.clone().filter_map(|export| Some((image.code_offset(export.at)?, export.name.to_owned()))),
    );
    if let Some(module) = exports.map(|export| export.name).find(|name| name.starts_with("PyInit_")) {
        // Slots of a module's definition: 2 is `Py_mod_exec` (CPython, `Include/moduleobject.h`).
        let slots =
            linkage.cells.iter().filter(|cell| number_at(source, Svma(cell.at.0.wrapping_sub(8))) == Some(2));
        found.extend(slots.filter_map(|cell| Some((image.code_offset(cell.to)?, module.to_owned()))));
    }
    found
}

/// Eight bytes of data, as a number.
fn number_at(source: &Source<'_, '_>, at: Svma) -> Option<u64> {
    let data = (source.linkage)().data_at(at)?;
    let offset = usize::try_from(at.since(data.extent.start)?).ok()?;
    Some(u64::from_le_bytes(*data.bytes.get(offset..)?.first_chunk()?))
}

/// The first function that a root is, or calls, directly or through others.
fn reached(
    source: &Source<'_, '_>,
    roots: Vec<(CodeOffset, String)>,
    setters: &HashMap<CodeOffset, Svma>,
) -> Option<FastMath> {
    let mut seen = HashSet::new();
    // Functions that were not looked at yet, each with its root.
    let mut front: Vec<(CodeOffset, usize)> =
        (0..).zip(&roots).map(|(index, (root, _))| (*root, index)).collect();
    front.retain(|(root, _)| seen.insert(*root));
    for _ in 0..=MAX_CALLS {
        let found = front.iter().find_map(|(start, root)| Some((*setters.get(start)?, *root)));
        if let Some((at, root)) = found {
            return roots.into_iter().nth(root).map(|(_, runs)| FastMath { at, runs });
        }
        let functions =
            front.iter().filter_map(|&(start, root)| Some((source.program.function_from(start)?, root)));
        let callees = functions.flat_map(|(function, root)| {
            source.program.edges_from(function.start..function.end).map(move |edge| (edge.to, root))
        });
        front = callees.filter(|(callee, _)| seen.insert(*callee)).collect();
    }
    None
}

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
use crate::insn::text::Syntax;
use crate::insn::{self, Class, Flow, Insn, Memory, Operation, Reg, RegSet};
use deburr_cpu::Arch;
use std::collections::{BTreeMap, HashMap, HashSet};

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
        let changing = places(image).into_iter().filter_map(|at| program.function_at(image.code_offset(at)?));
        let changing: BTreeMap<CodeOffset, &Function> =
            changing.map(|function| (function.start, function)).collect();
        let changes: HashMap<CodeOffset, (Svma, bool)> = changing
            .into_iter()
            .filter_map(|(start, function)| Some((start, last_change(image, function)?)))
            .collect();
        if !changes.values().any(|&(_, is_flushing)| is_flushing) {
            return None;
        }
        let (changing, calling): (Vec<Root>, Vec<Root>) =
            roots(source).into_iter().partition(|(start, _)| changes.contains_key(start));
        let direct = changing.into_iter().find_map(|(start, runs)| match changes.get(&start) {
            Some(&(at, true)) => Some(FastMath { at, runs }),
            _ => None,
        });
        direct.or_else(|| reached(source, calling, &changes))
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

/// Whether an x86-64 instruction is `ldmxcsr`, or its VEX form.
fn sets_mxcsr(image: &Image<'_>, insn: &Insn) -> bool {
    let code = image.bytes_at(insn.svma).and_then(|code| code.get(..insn.length.into())).unwrap_or_default();
    let text = || insn::disassemble(image.arch, code, insn.svma, Syntax::default());
    // A displacement or an immediate may have the byte of the opcode, too.
    code.contains(&0xae) && text().is_some_and(|text| text.trim_start_matches('v').starts_with("ldmxcsr"))
}

/// The last instruction of a function that changes the control register, and whether it sets bits that make numbers zero.
fn last_change(image: &Image<'_>, function: &Function) -> Option<(Svma, bool)> {
    let extent = function.extent(image);
    let mut at = extent.start;
    let mut last = None;
    let mut flushing = Flushing::default();
    for _ in 0..MAX_INSTRUCTIONS {
        if !extent.contains(at) {
            break;
        }
        let insn = insn::decode(image.arch, image.bytes_at(at)?, at)?;
        match image.arch {
            Arch::X86_64 if sets_mxcsr(image, &insn) => {
                let constant = constant(image, &insn).is_some_and(|value| value & FLUSH_X86 != 0);
                last = Some((at, constant || flushing.is_read(&insn)));
            }
            Arch::Aarch64 if image.word_at(at).unwrap_or(0) & !0x1f == SET_FPCR => {
                last = Some((at, flushing.is_read(&insn)));
            }
            _ => flushing.step(image.arch, &insn),
        }
        at = insn.next();
    }
    last
}

/// Where a function has a value with bits that make numbers zero: registers, and places in memory by their operands.
#[derive(Default)]
struct Flushing {
    registers: RegSet,
    slots: HashSet<(Option<Reg>, i64)>,
}

impl Flushing {
    /// Whether an instruction reads such a value.
    fn is_read(&self, insn: &Insn) -> bool {
        let is_loaded = insn.memory.is_some_and(|memory| memory.read && self.slots.contains(&slot(&memory)));
        is_loaded || insn.src.into_iter().flatten().any(|source| self.registers.contains(source))
    }

    /// Follows one instruction.
    fn step(&mut self, arch: Arch, insn: &Insn) {
        let is_read = self.is_read(insn);
        let is_flushing = match insn.operation {
            Operation::Or => is_read || adds_bits(arch, insn),
            Operation::And => is_read && insn.imm.is_some_and(|imm| imm & flush_bits(arch) != 0),
            Operation::Move | Operation::Extend => is_read || has_bits(arch, insn),
            _ if matches!(insn.class, Class::Load | Class::Store) => is_read || has_bits(arch, insn),
            _ => false,
        };
        let is_call = matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall);
        self.registers = if is_call { RegSet::EMPTY } else { self.registers.minus(insn.writes) };
        if let Some(memory) = insn.memory.filter(|memory| memory.write) {
            self.slots.remove(&slot(&memory));
            if is_flushing {
                self.slots.insert(slot(&memory));
            }
        } else if let Some(to) = insn.dst.filter(|_| is_flushing) {
            self.registers = self.registers.with(to);
        }
    }
}

fn slot(memory: &Memory) -> (Option<Reg>, i64) {
    (memory.base, memory.displacement)
}

const fn flush_bits(arch: Arch) -> i64 {
    match arch {
        Arch::X86_64 => FLUSH_X86,
        Arch::Aarch64 => FLUSH_AARCH64,
    }
}

/// Whether an instruction adds bits that make numbers zero, and no others.
fn adds_bits(arch: Arch, insn: &Insn) -> bool {
    // `or ah, 0x80` changes bit 15.
    let shift = if insn.high_byte { 8 } else { 0 };
    let bits = insn.imm.map_or(0, |imm| (imm & i64::from(u32::MAX)) << shift);
    bits != 0 && bits & !flush_bits(arch) == 0
}

/// Whether an immediate is such bits, or a whole value for MXCSR that has some.
fn has_bits(arch: Arch, insn: &Insn) -> bool {
    let is_whole = |imm: i64| arch == Arch::X86_64 && imm & !FLUSH_X86 & !EXCEPTIONS == MXCSR;
    insn.imm.is_some_and(|imm| imm & flush_bits(arch) != 0 && (imm & !flush_bits(arch) == 0 || is_whole(imm)))
}

/// What an instruction loads from constants.
fn constant(image: &Image<'_>, insn: &Insn) -> Option<i64> {
    let memory = insn.memory.as_ref().filter(|memory| memory.is_static)?;
    let at = Svma(memory.displacement.cast_unsigned());
    Some(u32::from_le_bytes(*image.constant(at, 4)?.first_chunk()?).into())
}

/// A function that loading or importing a library runs, with what people call it.
type Root = (CodeOffset, String);

/// All of them.
fn roots(source: &Source<'_, '_>) -> Vec<Root> {
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

/// The first change that a root makes by calling functions, directly or through others; none where such a call also sets the bits back,
/// as the two halves of a guard do.
fn reached(
    source: &Source<'_, '_>,
    roots: Vec<Root>,
    changes: &HashMap<CodeOffset, (Svma, bool)>,
) -> Option<FastMath> {
    let mut seen = HashSet::new();
    // Functions that were not looked at yet, each with its root.
    let mut front: Vec<(CodeOffset, usize)> =
        (0..).zip(&roots).map(|(index, (root, _))| (*root, index)).collect();
    front.retain(|(start, _)| seen.insert(*start));
    let mut first = None;
    for _ in 0..MAX_CALLS {
        let functions =
            front.iter().filter_map(|&(start, root)| Some((source.program.function_from(start)?, root)));
        let callees = functions.flat_map(|(function, root)| {
            source.program.edges_from(function.start..function.end).map(move |edge| (edge.to, root))
        });
        front = callees.filter(|(callee, _)| seen.insert(*callee)).collect();
        for (callee, root) in &front {
            match changes.get(callee) {
                Some((_, false)) => return None,
                Some(&(at, true)) => first = first.or(Some((at, *root))),
                None => {}
            }
        }
    }
    let (at, root) = first?;
    roots.into_iter().nth(root).map(|(_, runs)| FastMath { at, runs })
}

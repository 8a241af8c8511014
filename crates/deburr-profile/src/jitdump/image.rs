//! A jitdump → programs in memory, as ELF files: what is live in the end, each function a symbol at its address.
//!
//! In: a whole jitdump. Out: mostly one [`JitImage`]; several where functions are more than 4 GiB apart. Code that was moved is
//! where it was moved last, and of code that other code replaced, all of it or a part, nothing is left.

use super::elf;
use super::parse::Jitdump;
use crate::error::Error;
use std::ops::Range;

/// `e_machine` of x86-64 and AArch64.
const MACHINES: [u32; 2] = [62, 183];
/// Where `e_machine` is in the header.
const MACHINE_OFFSET: u64 = 12;
/// The most bytes that an image spans.
const MOST_SPAN: u64 = u32::MAX as u64;

/// Functions made at run time, as a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JitImage {
    /// From the first byte of its first function to the end of its last.
    pub extent: Range<u64>,
    /// An ELF file with a section and a symbol for each function.
    pub elf: Vec<u8>,
}

/// All functions of a jitdump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JitImages {
    /// By address.
    pub images: Vec<JitImage>,
    /// What is left out, for people.
    pub faults: Vec<String>,
}

/// Reads a jitdump.
///
/// # Errors
/// Where it is none, contradicts itself, or has code of another architecture than x86-64 and AArch64.
pub fn jit_images(bytes: &[u8]) -> Result<JitImages, Error> {
    let dump = Jitdump::parse(bytes, false)?;
    let machine = u16::try_from(dump.machine).ok().filter(|_| MACHINES.contains(&dump.machine));
    let machine = machine.ok_or_else(|| {
        let found = format!("code of x86-64 or AArch64, found that of machine {} (e_machine)", dump.machine);
        Error::new(MACHINE_OFFSET, found)
    })?;
    let faults = dump.cut.map(|at| format!("file offset {at:#x}: expected the rest of a record: left out"));
    let mut groups: Vec<(Range<u64>, Vec<elf::Function<'_>>)> = Vec::new();
    for (start, number) in dump.live.iter() {
        let Some(function) = dump.functions.get(number) else { continue };
        let end = start.saturating_add(function.code.len() as u64);
        let function = elf::Function { svma: start, name: &function.name, code: function.code };
        match groups.last_mut().filter(|(extent, _)| end - extent.start <= MOST_SPAN) {
            Some((extent, group)) => {
                extent.end = end;
                group.push(function);
            }
            None => groups.push((start..end, vec![function])),
        }
    }
    let image = |(extent, group): (Range<u64>, Vec<elf::Function<'_>>)| JitImage {
        extent,
        elf: elf::write(machine, &group),
    };
    Ok(JitImages { images: groups.into_iter().map(image).collect(), faults: faults.into_iter().collect() })
}

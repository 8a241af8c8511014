//! Functions at their addresses → an ELF file of them, in memory.
//!
//! One executable section and one symbol for each function, so that every byte that is code was code, and what is between
//! functions is nothing. Nothing else is known of such code: there are no segments, no entry point and no unwind tables. Follows
//! the gABI, with its extended section numbering.

/// `ET_EXEC`: the addresses are final.
const ET_EXEC: u16 = 2;
const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_SYMTAB_SHNDX: u32 = 18;
/// `SHF_ALLOC | SHF_EXECINSTR`.
const EXECUTABLE: u64 = 2 | 4;
const STT_FUNC: u8 = 2;
/// Section numbers from here on are elsewhere: `SHN_LORESERVE`, `SHN_XINDEX`.
const RESERVED: usize = 0xff00;
const ELSEWHERE: u16 = 0xffff;

const FILE_HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;

/// The names of sections, at their offsets.
const NAMES: &[u8] = b"\0.text\0.symtab\0.strtab\0.symtab_shndx\0";
const TEXT: u32 = 1;
const SYMTAB: u32 = 7;
const STRTAB: u32 = 15;
const SYMTAB_SHNDX: u32 = 23;

/// A function.
pub(super) struct Function<'a> {
    pub(super) svma: u64,
    pub(super) name: &'a str,
    pub(super) code: &'a [u8],
}

/// A section header.
#[derive(Default)]
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    svma: u64,
    offset: usize,
    size: usize,
    link: u32,
    info: u32,
    align: u64,
    entry_size: usize,
}

impl Section {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend([self.name, self.kind].map(u32::to_le_bytes).concat());
        out.extend(
            [self.flags, self.svma, self.offset as u64, self.size as u64].map(u64::to_le_bytes).concat(),
        );
        out.extend([self.link, self.info].map(u32::to_le_bytes).concat());
        out.extend([self.align, self.entry_size as u64].map(u64::to_le_bytes).concat());
    }
}

/// Writes the file. `machine`: `e_machine`. No two functions overlap, and there are fewer than 2³¹.
pub(super) fn write(machine: u16, functions: &[Function<'_>]) -> Vec<u8> {
    let mut out = vec![0; FILE_HEADER];
    let mut sections = vec![Section::default()];
    let (mut symbols, mut strings, mut numbers) = (vec![0; SYMBOL], vec![0], vec![0; 4]);
    for function in functions {
        let (number, size) = (sections.len(), function.code.len());
        sections.push(Section {
            name: TEXT,
            kind: SHT_PROGBITS,
            flags: EXECUTABLE,
            svma: function.svma,
            offset: out.len(),
            size,
            align: 1,
            ..Section::default()
        });
        out.extend(function.code);
        let name = u32::try_from(strings.len()).unwrap_or(0);
        strings.extend(function.name.bytes().chain([0]));
        symbols.extend(name.to_le_bytes());
        symbols.extend([STT_FUNC, 0]);
        let short = u16::try_from(number).ok().filter(|_| number < RESERVED);
        symbols.extend(short.unwrap_or(ELSEWHERE).to_le_bytes());
        symbols.extend([function.svma, size as u64].map(u64::to_le_bytes).concat());
        let long = if short.is_none() { number as u32 } else { 0 };
        numbers.extend(long.to_le_bytes());
    }
    let symtab = sections.len() as u32;
    let tables = [
        (SYMTAB, SHT_SYMTAB, symbols, SYMBOL),
        (STRTAB, SHT_STRTAB, strings, 0),
        (SYMTAB_SHNDX, SHT_SYMTAB_SHNDX, numbers, 4),
        (STRTAB, SHT_STRTAB, NAMES.to_vec(), 0),
    ];
    for (name, kind, bytes, entry_size) in tables {
        out.resize(out.len().next_multiple_of(8), 0);
        let link = match kind {
            SHT_SYMTAB => symtab + 1,
            SHT_SYMTAB_SHNDX => symtab,
            _ => 0,
        };
        // All symbols are local.
        let info = if kind == SHT_SYMTAB { symtab } else { 0 };
        let (offset, size, align) = (out.len(), bytes.len(), 8);
        sections.push(Section {
            name,
            kind,
            offset,
            size,
            link,
            info,
            align,
            entry_size,
            ..Section::default()
        });
        out.extend(bytes);
    }
    out.resize(out.len().next_multiple_of(8), 0);
    let (table, count) = (out.len(), sections.len());
    let short = u16::try_from(count).ok().filter(|_| count < RESERVED);
    if short.is_none()
        && let Some(first) = sections.first_mut()
    {
        (first.size, first.link) = (count, count as u32 - 1);
    }
    sections.iter().for_each(|section| section.write(&mut out));
    let header = file_header(machine, table, short);
    out.splice(..FILE_HEADER, header);
    out
}

/// `Elf64_Ehdr`. `count`: how many sections there are, where that fits.
fn file_header(machine: u16, table: usize, count: Option<u16>) -> Vec<u8> {
    // 64 bits, little-endian.
    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    header.extend([ET_EXEC, machine].map(u16::to_le_bytes).concat());
    header.extend(1u32.to_le_bytes());
    header.extend([0, 0, table as u64].map(u64::to_le_bytes).concat());
    header.extend(0u32.to_le_bytes());
    let names = count.map_or(ELSEWHERE, |count| count - 1);
    let sizes = [FILE_HEADER as u16, 0, 0, SECTION_HEADER as u16, count.unwrap_or(0), names];
    header.extend(sizes.map(u16::to_le_bytes).concat());
    header
}

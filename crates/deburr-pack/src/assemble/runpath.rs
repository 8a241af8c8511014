//! A file that looks for private libraries in absolute folders → the same file as it is in the tree of a level.
//!
//! In: its bytes, and the RUNPATH that it shall have. Out: the bytes with that text in the place of the old one, which must be no shorter
//! (gABI, "Dynamic Section"; "Shared Object Dependencies"). Linkers let names share the ends of others (`.dynstr` is merged by
//! suffixes), so it is looked whether anything else leads into the text: entries of the dynamic section, symbols, and versions.

use object::LittleEndian;
use object::elf::{
    DT_AUDIT, DT_AUXILIARY, DT_CONFIG, DT_DEPAUDIT, DT_FILTER, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME,
    DynamicTag, FileHeader64, SHT_DYNSYM,
};
use object::read::elf::{Dyn, FileHeader, SectionHeader, Sym};

/// Entries of the dynamic section whose value is a place in the string table.
const NAMES: [DynamicTag; 9] =
    [DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH, DT_AUXILIARY, DT_FILTER, DT_AUDIT, DT_DEPAUDIT, DT_CONFIG];

/// The file with another RUNPATH (or RPATH, where it has that).
///
/// # Errors
/// Why it cannot have it: the text is longer, or something else leads into the old one.
pub(super) fn with_runpath(bytes: &[u8], wanted: &str) -> Result<Vec<u8>, String> {
    let old = Old::of(bytes).map_err(|error| format!("its RUNPATH cannot be read: {error}"))?;
    let old = old.ok_or("it has no RUNPATH, or two that differ")?;
    if old.text == wanted.as_bytes() {
        return Ok(bytes.to_vec());
    }
    if wanted.len() > old.text.len() {
        return Err(format!("{wanted} is longer than its RUNPATH"));
    }
    if old.is_shared {
        return Err("other names of the file share the text of its RUNPATH".to_owned());
    }
    let mut new = bytes.to_vec();
    let place = new.get_mut(old.at..old.at + old.text.len()).ok_or("its RUNPATH is outside of the file")?;
    let (text, rest) = place.split_at_mut(wanted.len());
    text.copy_from_slice(wanted.as_bytes());
    rest.fill(0);
    Ok(new)
}

/// The text of a RUNPATH, and where it is in the file.
struct Old<'b> {
    text: &'b [u8],
    at: usize,
    /// Whether another name begins in it, or it is the end of one.
    is_shared: bool,
}

impl<'b> Old<'b> {
    fn of(bytes: &'b [u8]) -> object::Result<Option<Old<'b>>> {
        let header = FileHeader64::<LittleEndian>::parse(bytes)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, bytes)?;
        let Some((entries, link)) = sections.dynamic(endian, bytes)? else { return Ok(None) };
        let strings = sections.section(link)?;
        let table = strings.data(endian, bytes)?;
        let paths = entries.iter().filter(|entry| [DT_RUNPATH, DT_RPATH].contains(&entry.d_tag.get(endian)));
        let mut starts: Vec<u64> = paths.map(|entry| entry.d_val(endian)).collect();
        starts.dedup();
        let [start] = starts[..] else { return Ok(None) };
        let Some(rest) = usize::try_from(start).ok().and_then(|start| table.get(start..)) else {
            return Ok(None);
        };
        let length = memchr::memchr(0, rest).unwrap_or(rest.len());
        let begins_within = |other: u64| other > start && other < start + length as u64;
        let is_name = |entry: &&object::elf::Dyn64<LittleEndian>| NAMES.contains(&entry.d_tag.get(endian));
        let mut is_shared = start > 0 && table.get(start as usize - 1) != Some(&0);
        is_shared |= entries.iter().filter(is_name).any(|entry| begins_within(entry.d_val(endian)));
        let symbols = sections.symbols(endian, bytes, SHT_DYNSYM)?;
        is_shared |= symbols.iter().any(|symbol| begins_within(symbol.st_name(endian).into()));
        is_shared |= versions(&sections, endian, bytes)?.into_iter().any(|name| begins_within(name.into()));
        let at = usize::try_from(strings.sh_offset(endian).saturating_add(start)).unwrap_or(usize::MAX);
        Ok(Some(Old { text: &rest[..length], at, is_shared }))
    }
}

/// The places of all names of versions, and of the files that they are of.
fn versions(
    sections: &object::read::elf::SectionTable<'_, FileHeader64<LittleEndian>>,
    endian: LittleEndian,
    bytes: &[u8],
) -> object::Result<Vec<u32>> {
    let mut names = Vec::new();
    if let Some((mut needed, _)) = sections.gnu_verneed(endian, bytes)? {
        while let Some((file, mut versions)) = needed.next()? {
            names.push(file.vn_file.get(endian));
            while let Some(version) = versions.next()? {
                names.push(version.vna_name.get(endian));
            }
        }
    }
    if let Some((mut defined, _)) = sections.gnu_verdef(endian, bytes)? {
        while let Some((_, mut versions)) = defined.next()? {
            while let Some(version) = versions.next()? {
                names.push(version.vda_name.get(endian));
            }
        }
    }
    Ok(names)
}

//! Another ELF file for the same code: a debug file, or what `.gnu_debugdata` unpacks to.

use crate::image::elf::Elf;

/// Reads another ELF file for the same code: its build-id, if stated, is that of the file itself.
pub(crate) fn companion<'a>(
    elf: &Elf<'_>,
    build_id: Option<&str>,
    other: &'a [u8],
) -> Result<Elf<'a>, String> {
    let other = Elf::parse(other).map_err(|error| error.to_string())?;
    if other.arch != elf.arch {
        return Err("made for another instruction set: left out".to_owned());
    }
    let their_id = crate::image::elf::build_id(&other);
    if their_id.is_some() && build_id.is_some() && their_id.as_deref() != build_id {
        return Err("has another build-id: left out".to_owned());
    }
    Ok(other)
}

//! The front of the line, for everything that reads a file: bytes → [`Image`] → [`Program`].

use crate::function::{Program, discover};
use crate::image::{Error, Image};
use crate::insn::sweep::Wants;

/// Reads an ELF file and discovers its functions. `debug_file`: its separate debug file, if the caller has it; `wants`:
/// what the sweep is to mark.
///
/// # Errors
/// [`Error`], where the bytes are no ELF file that deburr reads, or contradict themselves.
pub fn open<'a>(
    bytes: &'a [u8],
    debug_file: Option<&'a [u8]>,
    wants: Wants,
) -> Result<(Image<'a>, Program), Error> {
    let image = Image::parse(bytes, debug_file)?;
    let program = discover(&image, wants);
    if !program.coverage.adds_up() {
        return Err(Error::Inconsistent(format!("{:?}", program.coverage)));
    }
    Ok((image, program))
}

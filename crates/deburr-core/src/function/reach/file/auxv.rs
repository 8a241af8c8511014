//! Finds the name of the file that the kernel's words are read from, `/proc/self/auxv` (proc(5)), as libdeflate does
//! where the C library may have no `getauxval`.
//!
//! In: the file's data. Out: where the name is. What the functions that refer to it load from the buffer that they read
//! into is an answer of the CPU, and which one is not followed.

use crate::address::Extent;
use crate::image::Linkage;
use memchr::memmem;

const NAME: &[u8] = b"/proc/self/auxv\0";

/// Where constant data holds the name.
pub(crate) fn names(linkage: &Linkage<'_>) -> Vec<Extent> {
    let constant = linkage.data.iter().filter(|data| data.is_constant);
    let names = constant.flat_map(|data| {
        let found = memmem::find_iter(data.bytes, NAME);
        found.map(|at| Extent::sized(data.extent.start.offset(at as i64), 1))
    });
    names.collect()
}

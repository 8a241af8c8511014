//! Reading an ELF file: bytes → image, linkage, and what the file asks for.

use crate::input::split;
use deburr_core::Svma;
use deburr_core::image::archive::Archive;
use deburr_core::image::linkage::Data;
use deburr_core::image::{Image, Kind, Linkage, needed};
use deburr_core::wanted_debug_file;

/// Reads an ELF file, its linkage, the libraries and the debug file that it asks for, or an archive.
///
/// # Panics
/// Where a list is not sorted, an address is outside the code, or bytes are not those of the file.
pub fn image(data: &[u8]) {
    let Some((choice, bytes)) = split(data) else { return };
    if let Ok(Some(archive)) = Archive::parse(bytes) {
        assert!(archive.members.iter().all(|member| bytes.get(member.range.clone()).is_some()));
    }
    let wanted = wanted_debug_file(bytes);
    let needed = needed(bytes);
    let Ok(image) = Image::parse(bytes, choice.has_debug_file().then_some(bytes)) else { return };
    // Whatever is an image has headers that these two read.
    assert_eq!(needed.map(|needed| needed.arch), Ok(image.arch));
    if let Some(wanted) = wanted {
        assert!(wanted.build_id.is_some() || wanted.debuglink.is_some());
        assert_ne!(image.kind, Kind::Relocatable);
    }
    hold_of_code(&image);
    hold_of_lists(&image);
    hold_of_linkage(&image, &Linkage::parse(&image));
}

/// Whether a list is in order.
fn is_sorted<T: PartialOrd>(list: impl IntoIterator<Item = T>) -> bool {
    list.into_iter().is_sorted()
}

fn hold_of_code(image: &Image<'_>) {
    for code in &image.code {
        assert_eq!(code.extent.len(), code.bytes.len() as u64);
        let from = usize::try_from(code.file_offset).expect("an offset in the file");
        let stated = image.bytes.get(from..from + code.bytes.len()).expect("code is in the file");
        assert!(std::ptr::eq(stated, code.bytes), "{}: other bytes than those at its offset", code.name);
        assert_eq!(image.code_offset(code.extent.start), Some(code.at));
        assert_eq!(image.svma(code.at), code.extent.start);
    }
    assert!(image.code.windows(2).all(|pair| pair[0].extent.end <= pair[1].extent.start));
    for loaded in &image.loaded {
        assert_eq!(loaded.extent.len(), loaded.bytes.len() as u64);
    }
    for (extent, bytes) in &image.constants {
        assert_eq!(extent.len(), bytes.len() as u64);
    }
}

fn hold_of_lists(image: &Image<'_>) {
    let is_code = |svma: Svma| image.code_at(svma).is_some();
    assert!(is_sorted(image.symbols.iter().map(|symbol| symbol.svma)));
    assert!(image.symbols.iter().all(|symbol| is_code(symbol.svma)));
    assert!(is_sorted(image.frames.iter().map(|frame| frame.extent.start)));
    assert!(image.frames.iter().all(|frame| is_code(frame.extent.start) && !frame.extent.is_empty()));
    for list in [&image.landing_pads, &image.entries, &image.pointers] {
        assert!(is_sorted(list) && list.iter().all(|&svma| is_code(svma)));
    }
    assert!(is_sorted(image.transfers.iter().map(|transfer| transfer.from)));
    for transfer in &image.transfers {
        assert!(is_code(transfer.from));
    }
    assert!(is_sorted(&image.addresses));
    assert!(image.addresses.iter().all(|&(from, to)| is_code(from) && is_code(to)));
    if image.kind != Kind::Relocatable {
        assert!(image.transfers.is_empty() && image.addresses.is_empty());
    }
}

fn hold_of_linkage(image: &Image<'_>, linkage: &Linkage<'_>) {
    let apart = |pair: &[Data<'_>]| pair[0].extent.end <= pair[1].extent.start;
    assert!(linkage.data.windows(2).all(apart), "data overlaps");
    for data in &linkage.data {
        assert!(data.bytes.len() as u64 <= data.extent.len());
        assert!(!(data.is_constant && data.is_writable));
    }
    assert!(is_sorted(linkage.cells.iter().map(|cell| cell.at)));
    assert!(is_sorted(linkage.resolved.iter().map(|resolved| resolved.at)));
    assert!(is_sorted(linkage.imports.iter().map(|import| import.at)));
    assert!(is_sorted(&linkage.exports) && is_sorted(&linkage.resolvers));
    assert!(is_sorted(&linkage.references));
    assert!(linkage.exports.iter().all(|&svma| image.code_at(svma).is_some()));
    assert!(linkage.objects.iter().all(|object| linkage.data_at(object.extent.start).is_some()));
    assert_eq!(linkage.named_exports.is_empty(), linkage.exports.is_empty());
}

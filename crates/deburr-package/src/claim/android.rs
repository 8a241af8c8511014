//! Applications and libraries for Android: the version of the system that `AndroidManifest.xml` says they are made for
//! (`android:targetSdkVersion`), as binary XML in an application and as text in a library; and whether its loader maps libraries from where they
//! are in an application (`android:extractNativeLibs`).
//!
//! Binary XML is a sequence of chunks (AOSP, `libs/androidfw/include/androidfw/ResourceTypes.h`): only the map of attributes to
//! resources and the attributes of elements are read.

use super::members::of_zip;
use super::statement::{Machines, Statement, Systems};
use crate::codec::meter::Meter;
use crate::number::{le16, le32};
use std::rc::Rc;

const PLACE: &str = "AndroidManifest.xml";
/// The resources of the attributes (AOSP, `public.xml`).
const TARGET_SDK_VERSION: u32 = 0x0101_0270;
const EXTRACT_NATIVE_LIBS: u32 = 0x0101_04ea;
/// The types of chunks, and of values that are integers or truth values.
const RES_XML_TYPE: u16 = 0x0003;
const RES_XML_RESOURCE_MAP_TYPE: u16 = 0x0180;
const RES_XML_START_ELEMENT_TYPE: u16 = 0x0102;
const TYPE_INT_DEC: u8 = 0x10;
const TYPE_INT_HEX: u8 = 0x11;
const TYPE_INT_BOOLEAN: u8 = 0x12;
/// Android 15, and the largest pages, in bytes, of machines that it runs on ("Support 16 KB page sizes").
const WITH_LARGER_PAGES: u32 = 35;
const LARGER_PAGE: u64 = 1 << 14;

/// What the manifest of a zip file says of the systems, where these have larger pages than earlier ones. Of the machines it says no more than
/// the system itself demands of them.
pub(super) fn statements(bytes: &[u8], meter: &Rc<Meter>) -> Vec<Statement> {
    let target = manifest(bytes, meter).and_then(|manifest| target_sdk(&manifest));
    let Some(target) = target.filter(|&target| target >= WITH_LARGER_PAGES) else { return Vec::new() };
    let machines = ["armv8.0-a", "x86-64+sse4.2+popcnt+cx16"].map(str::to_owned).to_vec();
    let statement = Statement::new(PLACE, format!("targetSdkVersion {target}"), Machines::Several(machines));
    vec![Statement {
        systems: Systems { largest_page: Some(LARGER_PAGE), ..Systems::default() },
        ..statement
    }]
}

/// Whether the loader maps the libraries of an application from where they are in its zip file, rather than from copies.
pub(crate) fn maps_libraries(bytes: &[u8], meter: &Rc<Meter>) -> bool {
    let manifest = manifest(bytes, meter).unwrap_or_default();
    value(&manifest, EXTRACT_NATIVE_LIBS, &[TYPE_INT_BOOLEAN]) == Some(0)
}

fn manifest(bytes: &[u8], meter: &Rc<Meter>) -> Option<Vec<u8>> {
    of_zip(bytes, meter, |name| name == PLACE).into_iter().next().map(|(_, manifest)| manifest)
}

/// The version that a manifest is made for, as its number in Android's API.
fn target_sdk(manifest: &[u8]) -> Option<u32> {
    match le16(manifest, 0)? == RES_XML_TYPE {
        true => value(manifest, TARGET_SDK_VERSION, &[TYPE_INT_DEC, TYPE_INT_HEX]),
        false => of_text(std::str::from_utf8(manifest).ok()?),
    }
}

fn of_text(manifest: &str) -> Option<u32> {
    let (_, rest) = manifest.split_once("android:targetSdkVersion=")?;
    let rest = rest.strip_prefix(['"', '\''])?;
    rest.split(['"', '\'']).next()?.parse().ok()
}

/// The value of the first attribute of a resource in binary XML, if it is of one of these types.
fn value(manifest: &[u8], resource: u32, types: &[u8]) -> Option<u32> {
    let mut rest = manifest.get(le16(manifest, 2)?.into()..)?;
    let mut resources: &[u8] = &[];
    while let Some(chunk) = chunk(rest) {
        match le16(chunk, 0) {
            Some(RES_XML_RESOURCE_MAP_TYPE) => resources = chunk.get(8..)?,
            Some(RES_XML_START_ELEMENT_TYPE) => {
                if let Some(found) = attribute(chunk, resources, (resource, types)) {
                    return Some(found);
                }
            }
            _ => {}
        }
        rest = rest.get(chunk.len()..)?;
    }
    None
}

/// The chunk at the start, with its header of at least 8 bytes.
fn chunk(bytes: &[u8]) -> Option<&[u8]> {
    let size = usize::try_from(le32(bytes, 4)?).ok()?;
    bytes.get(..size).filter(|chunk| chunk.len() >= 8)
}

/// The value of an attribute of an element.
fn attribute(element: &[u8], resources: &[u8], (wanted, types): (u32, &[u8])) -> Option<u32> {
    // `ResXMLTree_attrExt` follows the header.
    let extension = element.get(le16(element, 2)?.into()..)?;
    let at = |offset: usize| le16(extension, offset).map(usize::from);
    let (start, size, count) = (at(8)?, at(10)?, at(12)?);
    let all = extension.get(start..)?;
    let attributes = all.chunks_exact(size.max(20)).take(count);
    attributes
        .filter(|attribute| {
            let name = le32(attribute, 4).and_then(|name| usize::try_from(name).ok());
            let resource = name.and_then(|name| le32(resources, name.checked_mul(4)?));
            resource == Some(wanted) && attribute.get(15).is_some_and(|kind| types.contains(kind))
        })
        .find_map(|attribute| le32(attribute, 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// A manifest with one element, and in it one attribute: the resource of its name, the type of its value, and that.
    fn binary(resource: u32, kind: u32, value: u32) -> Vec<u8> {
        let map = words(&[0x0008_0180, 12, resource]);
        let attribute = words(&[u32::MAX, 0, u32::MAX, kind << 24 | 8, value]);
        let mut element = words(&[0x0010_0102, 16 + 20 + 20, 2, u32::MAX, u32::MAX, 5, 0x0014_0014, 1, 0]);
        element.extend(attribute);
        let size = 8 + map.len() + element.len();
        let mut whole = words(&[0x0008_0003, size as u32]);
        whole.extend(map);
        whole.extend(element);
        whole
    }

    #[test]
    fn the_version_is_read_from_binary_and_from_plain_manifests() {
        assert_eq!(target_sdk(&binary(TARGET_SDK_VERSION, 0x10, 35)), Some(35));
        // minSdkVersion, and a reference to another resource.
        assert_eq!(target_sdk(&binary(0x0101_020c, 0x10, 35)), None);
        assert_eq!(target_sdk(&binary(TARGET_SDK_VERSION, 0x01, 35)), None);
        let plain =
            "<manifest><uses-sdk android:minSdkVersion=\"21\" android:targetSdkVersion=\"36\"/></manifest>";
        assert_eq!(target_sdk(plain.as_bytes()), Some(36));
        assert_eq!(target_sdk(b"<manifest/>"), None);
    }

    #[test]
    fn libraries_are_mapped_where_the_manifest_says_that_they_are_not_extracted() {
        let extracts = |kind, value| {
            super::value(&binary(EXTRACT_NATIVE_LIBS, kind, value), EXTRACT_NATIVE_LIBS, &[TYPE_INT_BOOLEAN])
        };
        assert_eq!(extracts(0x12, 0), Some(0));
        assert_eq!(extracts(0x12, u32::MAX), Some(u32::MAX));
        assert_eq!(extracts(0x10, 0), None);
        assert_eq!(
            super::value(&binary(TARGET_SDK_VERSION, 0x12, 0), EXTRACT_NATIVE_LIBS, &[TYPE_INT_BOOLEAN]),
            None
        );
    }

    #[test]
    fn a_manifest_that_is_cut_off_or_lies_about_its_sizes_says_nothing() {
        let whole = binary(TARGET_SDK_VERSION, 0x10, 35);
        for length in 0..whole.len() {
            assert_eq!(target_sdk(&whole[..length]), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] = 0xff;
            // It ends, and says this version or another one.
            let _ = target_sdk(&changed);
            changed[at] = 0;
            let _ = target_sdk(&changed);
        }
    }
}

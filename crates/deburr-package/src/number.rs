//! Numbers at a place of some bytes; `None` past their end.

/// Bytes of a fixed number at a place.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn le64(bytes: &[u8], at: usize) -> Option<u64> {
    array_at(bytes, at).map(u64::from_le_bytes)
}

pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_be_bytes)
}

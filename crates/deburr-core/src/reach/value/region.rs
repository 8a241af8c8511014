//! Which numbers stand for addresses, and of what.
//!
//! Addresses of the file are its own, moved by [`BIAS`] where it may be loaded anywhere. Frames, the heap, imports and a
//! thread's memory have regions of their own, in numbers that are no canonical addresses and that no mask of features or
//! levels has been seen to be: a mask with few bits, or with nearly all, is in none.

/// Where a position-independent file is loaded.
pub(crate) const BIAS: u64 = 0x3000_0000_0000;

/// Below are numbers, never addresses: the first pages are never mapped.
pub(crate) const LOWEST_ADDRESS: u64 = 0x1000;

/// Above are numbers, never addresses: the system's own half of memory ends there.
const HIGHEST_ADDRESS: u64 = u64::MAX - 0x1000;

/// Whether something may be at an address: what uses another one ends the program.
pub(crate) fn is_mapped(address: u64) -> bool {
    (LOWEST_ADDRESS..=HIGHEST_ADDRESS).contains(&address)
}

/// Bits of an offset within a frame or an object of the heap.
const OFFSET_BITS: u32 = 24;

/// The offset in a frame's region of the return address.
const FRAME_TOP: u64 = 1 << (OFFSET_BITS - 1);

/// What an address is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Region {
    /// The frame of a context.
    Frame,
    /// An object that a call has allocated.
    Heap,
    /// A symbol of another file.
    Import,
    /// The memory of a thread.
    Thread,
}

const FRAME: u64 = 0xa6b1 << 48;
const HEAP: u64 = 0xa6b2 << 48;
const IMPORT: u64 = 0xa6b3 << 48;
const THREAD: u64 = 0xa6b4 << 48;

/// Where the memory of a thread is: what FS points to.
pub(crate) const THREAD_BASE: u64 = THREAD | 1 << 40;

/// The region that a number is in, if it is none of the file's addresses.
pub(crate) const fn region(address: u64) -> Option<Region> {
    match address >> 48 {
        0xa6b1 => Some(Region::Frame),
        0xa6b2 => Some(Region::Heap),
        0xa6b3 => Some(Region::Import),
        0xa6b4 => Some(Region::Thread),
        _ => None,
    }
}

/// The stack pointer where a context is entered.
pub(crate) const fn frame(context: u32) -> u64 {
    FRAME | (context as u64) << OFFSET_BITS | FRAME_TOP
}

/// The context whose frame an address is in, if it is in one.
pub(crate) fn context_of(address: u64) -> Option<u32> {
    (region(address) == Some(Region::Frame)).then_some(((address & !FRAME) >> OFFSET_BITS) as u32)
}

/// How far an address in a frame is from where its context is entered.
pub(crate) fn frame_offset(address: u64) -> i32 {
    (address & ((1 << OFFSET_BITS) - 1)) as i32 - FRAME_TOP as i32
}

/// The object that the heap has by this number.
pub(crate) const fn heap(number: u32) -> u64 {
    HEAP | (number as u64) << OFFSET_BITS
}

/// The symbol that the file imports by this number.
pub(crate) const fn import(number: u32) -> u64 {
    IMPORT | (number as u64) << OFFSET_BITS
}

/// The number of an import.
pub(crate) fn import_of(address: u64) -> Option<usize> {
    (region(address) == Some(Region::Import)).then_some(((address & !IMPORT) >> OFFSET_BITS) as usize)
}

/// The start of an object of the heap, or of another file.
pub(crate) const fn whole(address: u64) -> u64 {
    address & !((1 << OFFSET_BITS) - 1)
}

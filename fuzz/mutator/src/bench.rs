//! A file while it is edited: its bytes, where its parts are, how long it may become, and what is random.

use crate::field::{interesting, read, write};
use crate::file::{E_PHOFF, E_SHOFF, File, HEADER, PHDR, Part, SHDR};
use crate::random::Sequence;

/// A file while it is edited.
pub(crate) struct Bench<'a> {
    pub(crate) bytes: &'a mut Vec<u8>,
    pub(crate) file: File,
    pub(crate) max_size: usize,
    pub(crate) random: &'a mut Sequence,
}

impl Bench<'_> {
    /// The number in a field.
    pub(crate) fn read(&self, at: usize, width: usize) -> u64 {
        read(self.bytes, at, width)
    }

    /// Writes a field; whether that changed the file.
    pub(crate) fn write(&mut self, at: usize, width: usize, value: u64) -> bool {
        let old = self.read(at, width);
        write(self.bytes, at, width, value) && self.read(at, width) != old
    }

    /// One of some parts.
    pub(crate) fn pick(&mut self, parts: &[Part]) -> Option<Part> {
        self.random.pick(parts).copied()
    }

    /// An address that means something in the file: in code, in a section, or next to it.
    pub(crate) fn address(&mut self) -> u64 {
        let section = self.random.below(self.file.sections.len());
        let section = self.file.sections.get(section).map(|section| section.part);
        let code = self.random.below(self.file.code.len());
        let code = self.file.code.get(code).copied();
        let part = if self.random.once_in(3) { section.or(code) } else { code.or(section) };
        let Some(part) = part else { return self.random.below(0x1000) as u64 };
        // Functions begin at multiples of 16, instructions of Arm at multiples of 4.
        let mask = self.random.one_of(&[!15, !3, !0]);
        let offset = match self.random.below(6) {
            0 => 0,
            1 => part.size as u64,
            _ => self.random.below(part.size) as u64 & mask,
        };
        part.svma.wrapping_add(offset)
    }

    /// A value for an 8-byte field: often an address.
    pub(crate) fn value(&mut self, old: u64) -> u64 {
        if self.random.once_in(2) { self.address() } else { interesting(old, self.bytes.len(), self.random) }
    }

    /// Writes an interesting value into a field.
    pub(crate) fn disturb(&mut self, at: usize, width: usize) -> bool {
        let old = self.read(at, width);
        let value =
            if width == 8 { self.value(old) } else { interesting(old, self.bytes.len(), self.random) };
        self.write(at, width, value)
    }

    /// One entry of a table of the given size of entries.
    pub(crate) fn entry(&mut self, table: Part, size: usize) -> Option<usize> {
        let count = table.size / size.max(1);
        (count > 0).then(|| table.at + self.random.below(count) * size)
    }

    /// Copies one entry of a table over another, or swaps the two, or clears the one; whether anything changed.
    pub(crate) fn rearrange(&mut self, table: Part, size: usize) -> bool {
        let (Some(one), Some(other)) = (self.entry(table, size), self.entry(table, size)) else {
            return false;
        };
        let bytes = |at: usize| self.bytes.get(at..at + size).unwrap_or_default().to_vec();
        let (first, second) = (bytes(one), bytes(other));
        match self.random.below(3) {
            0 => self.put(other, &first),
            1 => {
                let changed = self.put(other, &first);
                self.put(one, &second) || changed
            }
            _ => self.put(one, &vec![0; size]),
        }
    }

    /// Writes bytes over others as far as the file reaches; whether that changed it.
    pub(crate) fn put(&mut self, at: usize, new: &[u8]) -> bool {
        let Some(old) = self.bytes.get_mut(at..) else { return false };
        let length = old.len().min(new.len());
        let (Some(old), Some(new)) = (old.get_mut(..length), new.get(..length)) else { return false };
        let changed = old != new;
        old.copy_from_slice(new);
        changed
    }

    /// Puts bytes in between: what follows in the part moves, and what no longer fits is lost. Whether that changed it.
    pub(crate) fn push_within(&mut self, part: Part, at: usize, new: &[u8]) -> bool {
        let end = part.end().min(self.bytes.len());
        let length = new.len().min(end.saturating_sub(at));
        let (Some(moved), Some(new)) = (end.checked_sub(length), new.get(..length)) else { return false };
        if at > moved || length == 0 {
            return false;
        }
        let before = self.bytes.get(at..end).map(<[u8]>::to_vec);
        self.bytes.copy_within(at..moved, at + length);
        self.put(at, new);
        self.bytes.get(at..end) != before.as_deref()
    }

    /// Takes bytes out: what follows in the part moves up, and `filler` repeats at its end. Whether that changed it.
    pub(crate) fn pull_within(&mut self, part: Part, at: usize, length: usize, filler: &[u8]) -> bool {
        let end = part.end().min(self.bytes.len());
        let length = length.min(end.saturating_sub(at));
        if length == 0 {
            return false;
        }
        let before = self.bytes.get(at..end).map(<[u8]>::to_vec);
        self.bytes.copy_within(at + length..end, at);
        let filler: Vec<u8> = filler.iter().copied().cycle().take(length).collect();
        self.put(end - length, &filler);
        self.bytes.get(at..end) != before.as_deref()
    }

    /// Puts bytes in between and makes the file longer; the headers' offsets and sizes follow, addresses do not.
    pub(crate) fn insert(&mut self, part: Part, at: usize, new: &[u8]) -> bool {
        let longer = self.bytes.len().saturating_add(new.len());
        if longer > self.max_size || at < HEADER || at > self.bytes.len() || new.is_empty() {
            return false;
        }
        self.bytes.splice(at..at, new.iter().copied());
        let count = new.len() as u64;
        let moved = |offset: u64| offset.wrapping_add(count);
        let is_after = |offset: u64| usize::try_from(offset).is_ok_and(|offset| offset >= at);
        for field in [E_PHOFF, E_SHOFF] {
            let offset = self.read(field, 8);
            if is_after(offset) {
                self.write(field, 8, moved(offset));
            }
        }
        let headers = [(self.file.section_headers, SHDR, 24, 32), (self.file.segment_headers, PHDR, 8, 32)];
        for (mut table, entry, offset_field, size_field) in headers {
            if table.at >= at {
                table.at += new.len();
            }
            for header in self.file.headers_of(table, entry) {
                let (offset, size) = (self.read(header + offset_field, 8), self.read(header + size_field, 8));
                // Empty sections begin there, too.
                let starts_part = size > 0 && usize::try_from(offset) == Ok(part.at);
                let holds = !is_after(offset) || starts_part;
                let end = usize::try_from(offset.saturating_add(size)).unwrap_or(usize::MAX);
                if !holds {
                    self.write(header + offset_field, 8, moved(offset));
                } else if end >= at && (end > at || starts_part) {
                    self.write(header + size_field, 8, moved(size));
                    if entry == PHDR {
                        let in_memory = self.read(header + 40, 8);
                        self.write(header + 40, 8, moved(in_memory));
                    }
                }
            }
        }
        true
    }

    /// A few random bytes.
    pub(crate) fn noise(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.random.draw() as u8).collect()
    }
}

//! The bytes of a file, mapped into memory, and what happens when the file shrinks meanwhile.
//!
//! Touching a page of a mapping past the end of its file raises SIGBUS (POSIX, mmap). The handler here puts
//! zero pages over the rest of that mapping and notes it, so that the reader goes on, reads zeros, and
//! queries [`Bytes::is_intact`] at the end. A mapping costs only the pages that are touched, which is what
//! keeps a sparse file cheap. This is the only `unsafe` code of the command.

#![expect(unsafe_code, reason = "mappings and a signal handler have no safe form")]

use super::held::Held;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

/// Files larger than this are refused: their headers are false, or they hold no program.
pub(crate) const MAX_FILE: u64 = 8 << 30;

/// A mapping, as the handler sees it. `start` is 0 while the slot is free, 1 while it is being filled.
struct Slot {
    start: AtomicUsize,
    length: AtomicUsize,
    faulted: AtomicBool,
}

/// More slots than files are ever open at a time: a file and its debug file per thread.
static SLOTS: [Slot; 1024] = [const {
    Slot { start: AtomicUsize::new(0), length: AtomicUsize::new(0), faulted: AtomicBool::new(false) }
}; 1024];

/// The bytes of a file, of the standard input, or of a caller.
pub(crate) enum Bytes {
    /// Held in memory.
    Owned(Vec<u8>),
    /// Held by the caller.
    Held(Held),
    /// Mapped.
    Mapped(Mapping),
}

/// A mapped file.
pub(crate) struct Mapping {
    file: File,
    before: Metadata,
    slot: &'static Slot,
    start: *mut libc::c_void,
    length: usize,
}

// SAFETY: the mapping is private and read-only, and is unmapped only when its owner is dropped.
unsafe impl Send for Mapping {}
// SAFETY: as above; nobody writes through `start`.
unsafe impl Sync for Mapping {}

impl Bytes {
    /// Maps a regular file.
    pub(crate) fn open(path: &Path) -> io::Result<Bytes> {
        Bytes::of(File::open(path)?)
    }

    /// Maps an open regular file.
    pub(crate) fn of(file: File) -> io::Result<Bytes> {
        static HANDLER: Once = Once::new();
        let before = file.metadata()?;
        if before.len() > MAX_FILE {
            let message = format!("too large: {} bytes, where at most 8 GiB are read", before.len());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        let length = usize::try_from(before.len()).map_err(io::Error::other)?;
        if length == 0 {
            return Ok(Bytes::Owned(Vec::new()));
        }
        HANDLER.call_once(install_handler);
        let slot = SLOTS
            .iter()
            .find(|slot| slot.start.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok())
            .ok_or_else(|| io::Error::other("too many files are mapped at the same time"))?;
        // SAFETY: a fresh private mapping, at an address of the kernel's choice, of an open file.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            slot.start.store(0, Ordering::Release);
            return Err(error);
        }
        slot.faulted.store(false, Ordering::Relaxed);
        slot.length.store(length, Ordering::Relaxed);
        slot.start.store(start as usize, Ordering::Release);
        Ok(Bytes::Mapped(Mapping { file, before, slot, start, length }))
    }

    /// Lets go of a part that is not needed for now: if it is read again, it comes from the file again.
    pub(crate) fn release(&self, part: &[u8]) {
        let Bytes::Mapped(mapping) = self else { return };
        let whole = self.as_ptr_range();
        // SAFETY: no more than sysconf.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let offset = (part.as_ptr() as usize).wrapping_sub(whole.start as usize);
        let end = offset.saturating_add(part.len());
        if end > mapping.length {
            return;
        }
        let (start, end) = (offset.next_multiple_of(page), end / page * page);
        if start < end {
            // SAFETY: pages of our own mapping, which is private and was never written to, so that they are
            // the file's again where they are touched; `on_bus_error` covers them like all others.
            unsafe { libc::madvise(mapping.start.byte_add(start), end - start, libc::MADV_DONTNEED) };
        }
    }

    /// Whether the bytes were those of one and the same file all the time.
    pub(crate) fn is_intact(&self) -> bool {
        match self {
            Bytes::Owned(_) | Bytes::Held(_) => true,
            Bytes::Mapped(mapping) => {
                let unchanged = mapping.file.metadata().is_ok_and(|after| {
                    let state = |m: &Metadata| (m.len(), m.mtime(), m.mtime_nsec());
                    state(&after) == state(&mapping.before)
                });
                unchanged && !mapping.slot.faulted.load(Ordering::Acquire)
            }
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Held(held) => held.bytes(),
            // SAFETY: `start` is a readable mapping of `length` bytes that lives as long as `self`. Another
            // process may write to the file meanwhile: the core reads it as untrusted bytes, and `is_intact`
            // shows it afterwards.
            Bytes::Mapped(mapping) => unsafe {
                std::slice::from_raw_parts(mapping.start.cast::<u8>(), mapping.length)
            },
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // The slot is freed only after the range is unmapped, so that the handler never covers a range
        // that is somebody else's by then.
        // SAFETY: the very range that `of` mapped; no borrow of it outlives `self`.
        unsafe { libc::munmap(self.start, self.length) };
        self.slot.start.store(0, Ordering::Release);
    }
}

/// What the program did on SIGBUS before: a Python that runs the module may have a handler of its own.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

fn install_handler() {
    // SAFETY: a zeroed sigaction is a valid one; the handler has the signature that SA_SIGINFO needs and
    // calls async-signal-safe functions only.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        let mut previous: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, &raw const action, &raw mut previous);
        // The handler is installed once.
        let _ = PREVIOUS.set(previous);
    }
}

/// Puts zeros over the mapping from the page of the fault to its end. A fault elsewhere is none of ours: the
/// action before is restored, and the instruction faults again.
extern "C" fn on_bus_error(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid siginfo_t to a SA_SIGINFO handler; sysconf, mmap, sigaction and signal are system
    // calls or read constants; the range covered is in a live mapping of ours, found in its slot.
    unsafe {
        let address = (*info).si_addr() as usize;
        for slot in &SLOTS {
            let start = slot.start.load(Ordering::Acquire);
            let length = slot.length.load(Ordering::Relaxed);
            if start > 1 && address >= start && address - start < length {
                let page_size = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
                let page = address & !(page_size - 1);
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
                let rest = start + length - page;
                if libc::mmap(page as *mut libc::c_void, rest, libc::PROT_READ, flags, -1, 0)
                    != libc::MAP_FAILED
                {
                    slot.faulted.store(true, Ordering::Release);
                    return;
                }
            }
        }
        match PREVIOUS.get() {
            Some(previous) => libc::sigaction(libc::SIGBUS, previous, std::ptr::null_mut()),
            None => {
                libc::signal(libc::SIGBUS, libc::SIG_DFL);
                0
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;

    /// A file of zeros in a folder of its own.
    fn zeros(length: u64) -> (Scratch, std::path::PathBuf) {
        let folder = Scratch::new("mapped");
        let path = folder.join("file");
        File::create(&path).unwrap().set_len(length).unwrap();
        (folder, path)
    }

    #[test]
    fn file_that_shrinks_reads_as_zeros_and_is_not_intact() {
        let (_folder, path) = zeros(0);
        std::fs::write(&path, vec![7_u8; 1 << 20]).unwrap();
        let bytes = Bytes::open(&path).unwrap();
        assert!(bytes.is_intact());
        std::thread::scope(|scope| {
            scope.spawn(|| File::options().write(true).open(&path).unwrap().set_len(5000).unwrap());
        });
        assert_eq!((bytes[0], bytes[4999], bytes[8192], bytes[(1 << 20) - 1]), (7, 7, 0, 0));
        assert!(!bytes.is_intact());
    }

    #[test]
    fn what_was_released_is_read_again() {
        let (_folder, path) = zeros(0);
        let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(&path, &content).unwrap();
        let bytes = Bytes::open(&path).unwrap();
        for range in [0..content.len(), 1..9000, 399_999..400_000, 0..0] {
            bytes.release(&bytes[range]);
            assert!(*bytes == *content);
        }
        // Not a part of it.
        bytes.release(&content);
        assert!(*bytes == *content && bytes.is_intact());
    }

    #[test]
    fn file_that_grows_is_not_intact() {
        let (_folder, path) = zeros(4096);
        let bytes = Bytes::open(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(9000).unwrap();
        assert!(!bytes.is_intact());
    }

    #[test]
    fn huge_sparse_file_is_refused_without_reading_it() {
        let (_folder, path) = zeros(40 << 30);
        assert!(Bytes::open(&path).err().unwrap().to_string().contains("too large"));
    }
}

//! What is read and what comes out of it, counted for all streams of one package.
//!
//! It holds the limits, the progress within the package's own bytes, and the first failure of a decoder,
//! since later ones follow from it.

use crate::limits::Limits;
use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::rc::Rc;

/// Why a decoder gave up.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// Which one.
    pub(crate) decoder: u32,
    pub(crate) reason: String,
    /// Whether the whole package ends here.
    pub(crate) is_over: bool,
}

/// The counts of one package.
pub(crate) struct Meter {
    pub(crate) limits: Limits,
    /// Where the package is in memory, so that the address of a part shows how far the reading is.
    root: Range<usize>,
    /// Bytes of the package read so far.
    pub(crate) position: Cell<u64>,
    /// Bytes that decoders gave.
    pub(crate) unpacked: Cell<u64>,
    decoders: Cell<u32>,
    failure: RefCell<Option<Failure>>,
}

impl Meter {
    pub(crate) fn new(limits: &Limits, root: &[u8]) -> Rc<Meter> {
        let start = root.as_ptr() as usize;
        Rc::new(Meter {
            limits: *limits,
            root: start..start.saturating_add(root.len()),
            position: Cell::new(0),
            unpacked: Cell::new(0),
            decoders: Cell::new(0),
            failure: RefCell::new(None),
        })
    }

    /// Bytes of the package, where it is one file.
    pub(crate) fn packed(&self) -> Option<u64> {
        (!self.root.is_empty()).then(|| self.root.len() as u64)
    }

    /// Counts bytes that came out of the package; what is said where they are too many.
    pub(crate) fn count(&self, bytes: u64) -> Option<String> {
        let unpacked = self.unpacked.get().saturating_add(bytes);
        self.unpacked.set(unpacked);
        let most = self.limits.unpacked_bytes;
        (unpacked > most).then(|| format!("the package unpacks to more than {most} (--max-unpacked)"))
    }

    /// The number of a new decoder.
    pub(crate) fn number(&self) -> u32 {
        let number = self.decoders.get() + 1;
        self.decoders.set(number);
        number
    }

    /// Where a part of the package begins in it; `None` for bytes that were decoded.
    pub(crate) fn offset_of(&self, part: &[u8]) -> Option<u64> {
        let start = part.as_ptr() as usize;
        (!part.is_empty() && self.root.contains(&start)).then(|| (start - self.root.start) as u64)
    }

    /// Notes a failure; of several the first is the cause of the others.
    pub(crate) fn fail(&self, failure: Failure) {
        self.failure.borrow_mut().get_or_insert(failure);
    }

    /// The decoder that failed and has not been reported.
    pub(crate) fn failing(&self) -> Option<u32> {
        self.failure.borrow().as_ref().map(|failure| failure.decoder)
    }

    /// Why a read failed: what a decoder said, or else the error itself. Takes the failure.
    pub(crate) fn reason(&self, error: &io::Error) -> String {
        match self.failure() {
            Some(failure) => failure.reason,
            None if error.kind() == io::ErrorKind::UnexpectedEof => "cut off".to_owned(),
            None => error.to_string(),
        }
    }

    /// Takes the failure, in order to report it once.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.borrow_mut().take()
    }
}

/// Compressed bytes, counted as they are read.
pub(crate) struct Counted<'a> {
    inner: Box<dyn BufRead + 'a>,
    read: Rc<Cell<u64>>,
    /// Where they are in the package, if they are in it.
    from: Option<u64>,
    meter: Rc<Meter>,
}

impl<'a> Counted<'a> {
    pub(crate) fn new(inner: Box<dyn BufRead + 'a>, from: Option<u64>, meter: &Rc<Meter>) -> Counted<'a> {
        Counted { inner, read: Rc::new(Cell::new(0)), from, meter: Rc::clone(meter) }
    }

    /// The count, for others to read.
    pub(crate) fn read_so_far(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.read)
    }
}

impl BufRead for Counted<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.inner.consume(bytes);
        self.read.set(self.read.get() + bytes as u64);
        if let Some(from) = self.from {
            self.meter.position.set(from + self.read.get());
        }
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

//! The standard output while somebody reads it: what is written after that is lost, and changes nothing else.
//!
//! `deburr check FILES | head` is over for its reader, but not for a script that looks at the exit status.

use std::cell::Cell;
use std::io::{self, Write};

/// A writer that outlives its reader.
pub(crate) struct WhileRead<'c, W> {
    to: W,
    /// Whether the reader is gone.
    is_over: &'c Cell<bool>,
}

impl<'c, W: Write> WhileRead<'c, W> {
    pub(crate) fn new(to: W, is_over: &'c Cell<bool>) -> WhileRead<'c, W> {
        WhileRead { to, is_over }
    }

    /// What was done, or its stand-in where nobody reads on.
    fn unless_over<T>(&self, done: io::Result<T>, stand_in: T) -> io::Result<T> {
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_over.set(true);
                Ok(stand_in)
            }
            done => done,
        }
    }
}

impl<W: Write> Write for WhileRead<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_over.get() {
            return Ok(bytes.len());
        }
        let done = self.to.write(bytes);
        self.unless_over(done, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_over.get() {
            return Ok(());
        }
        let done = self.to.flush();
        self.unless_over(done, ())
    }
}

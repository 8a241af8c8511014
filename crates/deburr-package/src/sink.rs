//! The receiver of what a package holds: binaries one at a time, and what could not be read.
//!
//! It also grants memory: reading waits until the receiver admits the next bytes, or stops when it says so.

use crate::known::Known;
use crate::member::Member;
use crate::object::Object;

/// The receiver wants no more: the reading ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// The receiver of what a package holds.
pub trait Sink {
    /// Leave to hold the bytes of one binary, until it is dropped.
    type Permit;

    /// Requests leave to read a binary of so many bytes into memory; may wait.
    ///
    /// # Errors
    /// [`Stopped`].
    fn admit(&mut self, bytes: u64) -> Result<Self::Permit, Stopped>;

    /// Says that so many bytes are in memory that no permit covers, or soon will be; may wait. No permit is
    /// held meanwhile.
    ///
    /// # Errors
    /// [`Stopped`].
    fn hold(&mut self, bytes: u64) -> Result<(), Stopped>;

    /// Takes a binary.
    ///
    /// # Errors
    /// [`Stopped`].
    fn object(&mut self, object: Object, permit: Self::Permit) -> Result<(), Stopped>;

    /// Takes note of a member, before its bytes: files and links of tar archives and of zip files, which are the packages that
    /// [`crate::rewrite()`] writes.
    fn member(&mut self, member: Member) {
        let _ = member;
    }

    /// How many bytes of a member are wanted by [`Sink::text`] that is neither a binary nor a package; `None`: it is not.
    fn wants(&self, path: &str) -> Option<u64> {
        let _ = path;
        None
    }

    /// Takes all bytes of a member that [`Sink::wants`] named and that has no more than those.
    fn text(&mut self, path: &str, bytes: Vec<u8>) {
        let _ = (path, bytes);
    }

    /// Counts a member that is neither a binary nor a package.
    fn pass_over(&mut self);

    /// Counts a member that is recognised and not read: what it is, and its size where that is known.
    ///
    /// # Errors
    /// [`Stopped`].
    fn recognise(&mut self, path: String, known: Known, bytes: Option<u64>) -> Result<(), Stopped> {
        let _ = (path, known, bytes);
        self.pass_over();
        Ok(())
    }

    /// Takes note of what could not be read; `fault`: it was requested, or begun.
    ///
    /// # Errors
    /// [`Stopped`].
    fn skip(&mut self, path: String, reason: String, fault: bool) -> Result<(), Stopped>;

    /// How far the reading has come, in bytes of the package.
    fn progress(&mut self, bytes: u64);
}

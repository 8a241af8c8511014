//! The files of an image, wherever they are: in a folder that the caller opens, or in an archive.
//!
//! The crate itself opens nothing; it names the file, and gets its bytes.

/// The files of an image, by their names in it.
pub trait Blobs {
    /// The bytes of a file; `None` if there is no such file.
    fn open<'a>(&'a self, name: &str) -> Option<Box<dyn AsRef<[u8]> + 'a>>;

    /// The name of the file that a name leads to, where one is a link.
    fn real(&self, name: &str) -> String {
        name.to_owned()
    }
}

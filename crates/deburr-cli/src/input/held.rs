//! Bytes that the caller of the library holds: input without a file, as the standard input is.
//!
//! In: names with bytes. Out: the bytes of a name, shared and never copied.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that are somebody else's, for as long as anybody looks at them.
#[derive(Clone)]
pub struct Held(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl Held {
    /// Shares them.
    pub fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Held {
        Held(Arc::new(bytes))
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes().len())
    }
}

/// What is held, by the path under which the options name it.
pub(crate) type HeldInputs = BTreeMap<PathBuf, Held>;

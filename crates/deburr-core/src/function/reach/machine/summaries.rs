//! What is known of functions instead of running them at each of their calls.

use crate::address::CodeOffset;
use crate::function::reach::domain::value::Value;
use std::collections::{BTreeMap, HashSet};

/// Functions by where they begin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summaries {
    /// Functions that are run inside their callers: they ask the CPU for what their arguments say.
    pub(crate) inlined: HashSet<CodeOffset>,
    /// Functions that ask the CPU, whatever their callers give them.
    pub(crate) context_free: HashSet<CodeOffset>,
    /// What functions return that tells something.
    pub(crate) returns: BTreeMap<CodeOffset, Value>,
}

//! What is known of functions instead of running them at each of their calls.

use crate::address::CodeOffset;
use crate::function::reach::domain::value::Value;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Functions by where they begin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summaries {
    /// Functions that are run inside their callers: they query the CPU for what their arguments say.
    pub(crate) inlined: FxHashSet<CodeOffset>,
    /// Functions that query the CPU, whatever their callers give them.
    pub(crate) context_free: FxHashSet<CodeOffset>,
    /// Functions that run `cpuid` to serialize, and drop the answer.
    pub(crate) serializing: FxHashSet<CodeOffset>,
    /// Informative values that functions return.
    pub(crate) returns: BTreeMap<CodeOffset, Value>,
}

//! The options of the verbs that make tables for SQL, and that ask them.

pub(crate) mod query;
pub(crate) mod scan;

//! What is wrong with a query: a projection or a filter that cannot be understood.
//!
//! Out: the query as the user wrote it, and the reason.

use std::fmt;

/// A query that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// The query or its part.
    pub query: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.query, self.reason)
    }
}

impl std::error::Error for QueryError {}

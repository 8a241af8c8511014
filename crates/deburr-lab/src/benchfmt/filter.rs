//! Which results take part, by upstream's query language as far as it selects.
//!
//! In: `key:value` terms that must all hold, `-key:value` for one that must not, `*` for all. Out: yes or no
//! for a record.

use super::key;
use super::parse::Record;
use super::query::QueryError;

/// A parsed filter.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    terms: Vec<Term>,
}

#[derive(Debug, Clone)]
struct Term {
    key: String,
    value: String,
    holds: bool,
}

impl Filter {
    pub(super) fn parse(query: &str) -> Result<Filter, QueryError> {
        let refuse = |reason| QueryError { query: query.to_owned(), reason };
        let mut terms = Vec::new();
        for word in query.split_whitespace() {
            if word == "*" || word == "AND" {
                continue;
            }
            if word == "OR" || word.contains(['(', ')', '"', '\'']) {
                return Err(refuse("a filter is a list of key:value terms, which must all hold"));
            }
            let (holds, word) = word.strip_prefix('-').map_or((true, word), |word| (false, word));
            let (key, value) = word.split_once(':').ok_or_else(|| refuse("expected key:value"))?;
            if key.is_empty() || matches!(key, ".config" | ".unit") {
                return Err(refuse(
                    "a filter's key is .name, .fullname, .file, /part or a configuration key",
                ));
            }
            if value.starts_with('/') {
                return Err(refuse("regular expressions are not supported"));
            }
            terms.push(Term { key: key.to_owned(), value: value.to_owned(), holds });
        }
        Ok(Filter { terms })
    }

    pub(super) fn takes(&self, record: &Record) -> bool {
        self.terms.iter().all(|term| (key::extract(record, &term.key) == term.value) == term.holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_hold_together() {
        let record = Record {
            config: Vec::new(),
            name: "A/align=0/size=3-8".to_owned(),
            iterations: 1,
            values: Vec::new(),
        };
        for (query, takes) in
            [("*", true), ("/align:0", true), ("/align:0 -/size:3", false), (".name:A /size:3", true)]
        {
            assert_eq!(Filter::parse(query).unwrap().takes(&record), takes, "{query}");
        }
        for query in ["a:1 OR b:2", "a", ":1", "a:/x/", "(a:1)"] {
            assert!(Filter::parse(query).is_err(), "{query}");
        }
    }
}

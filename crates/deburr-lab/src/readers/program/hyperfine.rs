//! hyperfine's `--export-json` (its `src/export/json.rs`): the time of each run; of user and system time only
//! their means.
//!
//! Names are `COMMAND:time`; without the command where there is only one, so that different commands in two
//! files compare.

use crate::readers::error::ReadError;
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::json;
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::readers::quantity::TIME;

pub(super) const METRICS: Metrics = Metrics::fixed(&[("time", TIME), ("user", TIME), ("system", TIME)]);

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::Hyperfine, METRICS);
    for document in json::documents(text)? {
        let root = document.root();
        let results = root.get("results")?.items()?;
        found.report(root.line())?;
        for result in &results {
            let subject = match results.len() {
                1 => String::new(),
                _ => format!("{}:", result.get("command")?.text()?),
            };
            // The same command twice has its mean twice.
            for mean in ["user", "system"] {
                if let Some(field) = result.find(mean) {
                    found.once(field.place(), format!("{subject}{mean}"), field.number()?)?;
                }
            }
            for time in result.get("times")?.items()? {
                found.push(time.place(), format!("{subject}time"), time.number()?)?;
            }
        }
    }
    found.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_documents_are_refused_with_the_field() {
        let error = |results: &str| read(&format!("{{\"results\":[{results}]}}")).unwrap_err().to_string();
        assert_eq!(error(""), "line 1: a report of hyperfine without results: cut off?");
        assert_eq!(error(r#"{"command":"a","mean":1}"#), "results[0]: no field \"times\"");
        assert_eq!(
            error(r#"{"command":"a","times":[1,null]}"#),
            "results[0].times[1]: null, where a number is expected"
        );
        let twice = r#"{"command":"a","user":1,"times":[1]},{"command":"a","user":1,"times":[1]}"#;
        assert_eq!(error(twice), "results[1].user: a:user a second time in one report of hyperfine");
    }
}

//! hyperfine's `--export-json` (its `src/export/json.rs`), of both versions of its schema.
//!
//! Of version 1 (hyperfine 1): the time of each run, and its peak memory where that is there; of user and
//! system time only the means. Of version 2 (`schema_version`, hyperfine 2): all that was measured of each
//! run, hardware counters among it.
//!
//! Names are `COMMAND:time`; without the command where there is only one, so that different commands in two
//! files compare. A command that was given a name has that.

use crate::readers::error::ReadError;
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::json::{self, JsonField};
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::readers::quantity::{Quantity, TIME};
use crate::stats::Direction;

const MEMORY: Quantity = Quantity { unit: "B", direction: Direction::Smaller };
const COUNT: Quantity = Quantity { unit: "", direction: Direction::Smaller };

pub(super) const METRICS: Metrics = Metrics::fixed(&[
    ("time", TIME),
    ("cpu", TIME),
    ("user", TIME),
    ("system", TIME),
    ("memory", MEMORY),
    ("instructions", COUNT),
    ("cpu_cycles", COUNT),
    ("cache_references", COUNT),
    ("cache_misses", COUNT),
    ("branch_misses", COUNT),
]);

/// What a run has in version 2, and the name of its metric here.
const FIELDS: [(&str, &str); 10] = [
    ("time_wall_clock", "time"),
    ("time_cpu", "cpu"),
    ("time_user", "user"),
    ("time_system", "system"),
    ("memory_peak_resident", "memory"),
    ("instructions", "instructions"),
    ("cpu_cycles", "cpu_cycles"),
    ("cache_references", "cache_references"),
    ("cache_misses", "cache_misses"),
    ("branch_misses", "branch_misses"),
];

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::Hyperfine, METRICS);
    for document in json::documents(text)? {
        let root = document.root();
        let results = root.get("results")?.items()?;
        found.report(root.line())?;
        for result in &results {
            let subject = match results.len() {
                1 => String::new(),
                _ => format!("{}:", result.find("name").map_or_else(|| result.get("command"), Ok)?.text()?),
            };
            match result.find("measurements") {
                Some(runs) => runs_of_version_2(&runs.items()?, &subject, &mut found)?,
                None => result_of_version_1(result, &subject, &mut found)?,
            }
        }
    }
    found.finish()
}

fn result_of_version_1(result: &JsonField<'_>, subject: &str, found: &mut Gathered) -> Result<(), ReadError> {
    // The same command twice has its mean twice.
    for mean in ["user", "system"] {
        if let Some(field) = result.find(mean) {
            found.once(field.place(), format!("{subject}{mean}"), field.number()?)?;
        }
    }
    for time in result.get("times")?.items()? {
        found.push(time.place(), format!("{subject}time"), time.number()?)?;
    }
    for memory in result.find("memory_usage_byte").map_or_else(|| Ok(Vec::new()), |field| field.items())? {
        found.push(memory.place(), format!("{subject}memory"), memory.number()?)?;
    }
    Ok(())
}

/// A metric that some runs lack is left out, as hyperfine does, so that all metrics are of the same runs. The
/// time is in all of them.
fn runs_of_version_2(runs: &[JsonField<'_>], subject: &str, found: &mut Gathered) -> Result<(), ReadError> {
    for (field, metric) in FIELDS {
        let is_whole = metric == "time" || runs.iter().all(|run| run.find(field).is_some());
        for run in runs.iter().filter(|_| is_whole) {
            let value = run.get(field)?.get("value")?;
            found.push(value.place(), format!("{subject}{metric}"), value.number()?)?;
        }
    }
    Ok(())
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

    #[test]
    fn a_metric_that_a_run_lacks_is_left_out_unless_it_is_the_time() {
        let run = |extra: &str| format!(r#"{{"time_wall_clock":{{"value":1.5,"unit":"second"}}{extra}}}"#);
        let memory = r#","memory_peak_resident":{"value":4096.0,"unit":"byte"},"exit_code":0"#;
        let text = |runs: &[String]| {
            format!(
                r#"{{"schema_version":2,"results":[{{"command":"a","measurements":[{}]}}]}}"#,
                runs.join(",")
            )
        };
        let names = |runs: &[String]| -> Vec<(String, usize)> {
            read(&text(runs)).unwrap().into_iter().map(|found| (found.name, found.values.len())).collect()
        };
        assert_eq!(names(&[run(memory), run("")]), [("time".to_owned(), 2)]);
        assert_eq!(names(&[run(memory), run(memory)]), [("time".to_owned(), 2), ("memory".to_owned(), 2)]);
        let error = read(&text(&["{}".to_owned()])).unwrap_err().to_string();
        assert_eq!(error, "results[0].measurements[0]: no field \"time_wall_clock\"");
    }
}

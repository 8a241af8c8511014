//! fio's JSON (its `HOWTO`, "JSON output", and `stat.c`, `add_ddir_status_json`): each job's reads, writes
//! and trims.
//!
//! Names are `JOB:read:iops`; without the job where there is only one, so that jobs of different names
//! compare. `clat` is the time from submission to completion. fio 2 wrote microseconds and KB where fio 3
//! writes nanoseconds and bytes. A job that ended with an error is refused.

use crate::readers::error::ReadError;
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::json::{self, JsonField};
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::readers::quantity::{BANDWIDTH, RATE, TIME, percentile, shortened};

pub(super) const METRICS: Metrics =
    Metrics::fixed(&[("iops", RATE), ("bandwidth", BANDWIDTH), ("clat", TIME)]);

/// Of the many percentiles that fio writes.
const PERCENTILES: [&str; 5] = ["p50", "p90", "p95", "p99", "p99.9"];

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::FioJson, METRICS);
    for document in json::documents(text)? {
        let root = document.root();
        let jobs = root.get("jobs")?.items()?;
        found.report(root.line())?;
        for job in &jobs {
            if let Some(error) = job.find("error").filter(|error| error.as_number() != Some(0.0)) {
                return Err(ReadError::at(error.place(), "the job ended with an error"));
            }
            let name = job.get("jobname")?.text()?;
            let subject = if jobs.len() == 1 { String::new() } else { format!("{name}:") };
            for direction in ["read", "write", "trim"] {
                if let Some(done) = job.find(direction) {
                    add(&format!("{subject}{direction}"), &done, &mut found)
                        .map_err(|error| explained(error, name))?;
                }
            }
        }
    }
    found.finish()
}

/// Processes of one job (`numjobs`) have its name, and are no repeated measurements.
fn explained(mut error: ReadError, job: &str) -> ReadError {
    if error.reason.contains("a second time") {
        error.reason =
            format!("job {:?} a second time: --group_reporting sums its processes up", shortened(job));
    }
    error
}

fn add(subject: &str, done: &JsonField<'_>, found: &mut Gathered) -> Result<(), ReadError> {
    let iops = done.get("iops")?;
    // What a job does not do is there, too.
    if iops.number()? == 0.0 {
        return Ok(());
    }
    found.once(iops.place(), format!("{subject}:iops"), iops.number()?)?;
    let (bytes, factor) = match done.find("bw_bytes") {
        Some(bytes) => (bytes, 1.0),
        None => (done.get("bw")?, 1024.0),
    };
    found.once(bytes.place(), format!("{subject}:bandwidth"), bytes.number()? * factor)?;
    let latency = done.find("clat_ns").map(|latency| (latency, 1e9));
    let Some((latency, a_second)) = latency.or_else(|| Some((done.find("clat")?, 1e6))) else {
        return Ok(());
    };
    let mean = latency.get("mean")?;
    found.once(mean.place(), format!("{subject}:clat"), mean.number()? / a_second)?;
    let Some(percentiles) = latency.find("percentile") else { return Ok(()) };
    for (share, value) in percentiles.fields()? {
        let share = percentile(value.place(), share)?;
        if PERCENTILES.contains(&share.as_str()) {
            found.once(value.place(), format!("{subject}:clat:{share}"), value.number()? / a_second)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, error: u32) -> String {
        format!(
            r#"{{"jobname":"{name}","error":{error},"read":{{"iops":10,"bw":4,"clat":{{"mean":2.5}}}},"write":{{"iops":0}}}}"#
        )
    }

    #[test]
    fn version_2_wrote_microseconds_and_kilobytes() {
        let found = read(&format!("fio: a note\n{{\"jobs\":[{}]}}\n", job("x", 0))).unwrap();
        let all: Vec<(&str, f64)> =
            found.iter().map(|found| (found.name.as_str(), found.values[0])).collect();
        assert_eq!(all, [("read:iops", 10.0), ("read:bandwidth", 4096.0), ("read:clat", 2.5e-6)]);
    }

    #[test]
    fn bad_documents_are_refused_with_the_field() {
        let error = |jobs: &str| read(&format!("{{\"jobs\":[{jobs}]}}")).unwrap_err().to_string();
        assert_eq!(error(""), "line 1: a report of fio without results: cut off?");
        assert_eq!(error(&job("x", 5)), "jobs[0].error: the job ended with an error");
        let twice = format!("{},{}", job("x", 0), job("x", 0));
        assert_eq!(
            error(&twice),
            "jobs[1].read.iops: job \"x\" a second time: --group_reporting sums its processes up"
        );
        assert_eq!(error("{\"read\":{}}"), "jobs[0]: no field \"jobname\"");
        assert_eq!(
            error("{\"jobname\":\"x\",\"read\":{\"iops\":\"no\"}}"),
            "jobs[0].read.iops: \"no\", where a number is expected"
        );
        let cut = read(&format!("{{\"jobs\":[\n{}", job("x", 0))).unwrap_err().to_string();
        assert_eq!(cut, "line 2: EOF while parsing a list (cut off, or no JSON)");
    }
}

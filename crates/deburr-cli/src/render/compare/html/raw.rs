//! All numbers of a page as files that it has in itself: links with the data in them (RFC 2397).
//!
//! In: a document. Out: two links: the runs as comma-separated values (RFC 4180), and the JSON document. Where
//! there are too many runs for a page, none.

use super::runs::readings;
use crate::render::compare::document::CompareDocument;
use crate::render::compare::json;
use deburr_lab::comparison::Comparison;
use deburr_lab::side::Side;
use std::fmt::Write;

/// Runs at most: a link of them has some 50 bytes for each.
const MOST: usize = 50_000;

/// The links.
pub(super) fn links(document: &CompareDocument) -> Option<String> {
    let all = rows(document);
    let runs: usize =
        all.iter().map(|(_, comparison)| comparison.series.values.iter().map(Vec::len).sum::<usize>()).sum();
    if runs > MOST {
        return None;
    }
    let mut csv = String::from("param,metric,unit,pair,side,value,began,disturbed\r\n");
    for (value, comparison) in all {
        let question = &comparison.question;
        let fields = [value, question.name.as_str(), question.unit.as_str()].map(quoted).join(",");
        for reading in readings(comparison) {
            let side = if reading.side == Side::A { "A" } else { "B" };
            let began = reading.began.map(|began| began.to_string()).unwrap_or_default();
            let disturbed = if reading.is_contaminated { "1" } else { "0" };
            let _ =
                write!(csv, "{fields},{},{side},{},{began},{disturbed}\r\n", reading.pair + 1, reading.value);
        }
    }
    let whole = serde_json::to_string(&json::whole(document)).unwrap_or_default();
    Some(format!(
        "<a download=\"deburr-compare.csv\" href=\"data:text/csv;charset=utf-8,{}\">runs (CSV)</a>, \
         <a download=\"deburr-compare.json\" href=\"data:application/json,{}\">all results (JSON)</a>",
        encoded(&csv),
        encoded(&whole),
    ))
}

/// What was measured, with the value of what was swept over: of a sweep each point.
fn rows(document: &CompareDocument) -> Vec<(&str, &Comparison)> {
    match &document.sweep {
        None => document.comparisons.iter().map(|comparison| ("", comparison)).collect(),
        Some((_, points)) => points
            .iter()
            .flat_map(|point| point.comparisons.iter().map(|comparison| (point.value.as_str(), comparison)))
            .collect(),
    }
}

fn quoted(field: &str) -> String {
    let plain = !field.contains([',', '"', '\r', '\n']);
    if plain { field.to_owned() } else { format!("\"{}\"", field.replace('"', "\"\"")) }
}

/// Text as a part of a link: what is neither a letter nor a digit nor known to stand for itself there is written
/// by its bytes (RFC 3986, 2.1).
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b',' | b'/' => {
                encoded.push(char::from(byte));
            }
            other => {
                let _ = write!(encoded, "%{other:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_link_ends_it() {
        assert_eq!(encoded("a\"<é\r\n1,2/x"), "a%22%3C%C3%A9%0D%0A1,2/x");
        assert_eq!([quoted("a b"), quoted("a,\"b\"")], ["a b", "\"a,\"\"b\"\"\""]);
    }
}

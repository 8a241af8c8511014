//! Published rows next to a record's, by shape → a table for people.

use crate::render::style::Palette;
use crate::text::number::counted;
use deburr_lab::bench::evidence::{Agreement, NEITHER, Shape};
use std::io::{self, Write};

/// Prints the published ratios that the record has a ratio for, and counts the others.
pub(crate) fn text(out: &mut dyn Write, shapes: &[Shape], palette: Palette) -> io::Result<()> {
    writeln!(out, "\n{}", palette.bold("published ratios of times, next to those measured here"))?;
    let measured: Vec<(&Shape, f64, Agreement)> =
        shapes.iter().filter_map(|shape| Some((shape, shape.here?, shape.agreement()?))).collect();
    let width = measured.iter().map(|(shape, ..)| shape.what.chars().count()).max().unwrap_or_default();
    if !measured.is_empty() {
        let header =
            format!("  {:width$}  threads  published    here  says      machine, table", "comparison");
        writeln!(out, "{}", palette.dim(&header))?;
    }
    for (shape, here, agreement) in &measured {
        let said = match agreement {
            Agreement::Agrees => "the same",
            Agreement::Differs => "another",
        };
        writeln!(
            out,
            "  {:width$}  {:>7}  {:>8.2}×  {here:>5.2}×  {said:8}  {}, {}",
            shape.what, shape.threads, shape.published, shape.machine, shape.table
        )?;
    }
    let agree = measured.iter().filter(|(.., agreement)| *agreement == Agreement::Agrees).count() as u64;
    let (all, left) = (measured.len() as u64, (shapes.len() - measured.len()) as u64);
    writeln!(
        out,
        "{agree} of {} the same: faster, slower, or neither by {:.0} %. {} not measured here.",
        if all == 1 { "1 ratio says".to_owned() } else { format!("{all} ratios say") },
        100.0 * NEITHER,
        if left == 1 {
            "1 published ratio was".to_owned()
        } else {
            format!("{} were", counted(left, "published ratio"))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_next_to_each_other_and_those_not_measured_are_counted() {
        let shape = |what: &str, published, here| Shape {
            table: "t.csv",
            machine: "A".to_owned(),
            what: what.to_owned(),
            threads: 16,
            published,
            here,
        };
        let shapes = [
            shape("FETCH_ADD: LSE to LL/SC", 0.25, Some(0.5)),
            shape("BAD_CAS: LSE to LL/SC", 6.5, Some(1.0)),
            shape("OK_CAS: LSE to LL/SC", 1.0, None),
        ];
        let mut out = Vec::new();
        text(&mut out, &shapes, Palette::new(false)).unwrap();
        let expected = "
published ratios of times, next to those measured here
  comparison               threads  published    here  says      machine, table
  FETCH_ADD: LSE to LL/SC       16      0.25×   0.50×  the same  A, t.csv
  BAD_CAS: LSE to LL/SC         16      6.50×   1.00×  another   A, t.csv
1 of 2 ratios say the same: faster, slower, or neither by 10 %. 1 published ratio was not measured here.
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut none = Vec::new();
        text(&mut none, &shapes[2..], Palette::new(false)).unwrap();
        assert!(String::from_utf8(none).unwrap().contains("\n0 of 0 ratios say the same"));
    }
}

//! Numbers in text: digits in groups, and counts with their nouns.

use std::collections::BTreeMap;

/// `1 file`, `2,000 files`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits, with the unit.
pub(crate) fn nanoseconds(ns: f64) -> String {
    match ns.abs() {
        size if size < 9.995 => format!("{ns:.2} ns"),
        size if size < 99.95 => format!("{ns:.1} ns"),
        size if size < 9_999.5 => format!("{ns:.0} ns"),
        size if size < 999.95e3 => format!("{:.1} µs", ns / 1e3),
        size if size < 999.95e6 => format!("{:.1} ms", ns / 1e6),
        size if size < 1e15 => format!("{:.1} s", ns / 1e9),
        _ => format!("{:.1e} s", ns / 1e9),
    }
}

/// How many there are of each kind, those of which there are most first: `12 PE, 3 wasm`.
pub(crate) fn kinds(counts: &BTreeMap<String, u64>) -> String {
    let mut order: Vec<_> = counts.iter().collect();
    order.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let each = order.into_iter().map(|(kind, count)| format!("{} × {kind}", grouped(*count)));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([grouped(7), grouped(1000), grouped(1_234_567)], ["7", "1,000", "1,234,567"]);
    }
}

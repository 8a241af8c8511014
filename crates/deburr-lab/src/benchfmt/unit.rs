//! Units: brought to base units, classed, and scaled for reading.
//!
//! `ns` becomes `sec` and `MB` becomes `B` wherever they are multiplied, so that no `µns` appears. Bytes are
//! scaled by 1024, everything else by 1000; a row has one scale, by its value nearest to 0, with four
//! significant digits of that.

/// How a unit's prefixes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// By 1000: n, µ, m, k, M, G, T.
    Decimal,
    /// By 1024: Ki, Mi, Gi, Ti.
    Binary,
}

/// A unit's factors: where each begins, its name, and whether it divides.
fn words(unit: &str) -> Vec<(usize, &str, bool)> {
    let (mut words, mut divides, mut start) = (Vec::new(), false, None);
    for (at, c) in unit.char_indices().chain([(unit.len(), '*')]) {
        let separates = matches!(c, '*' | '/' | '-') || c.is_whitespace();
        if !separates {
            start = start.or(Some(at));
            continue;
        }
        if let Some(from) = start.take() {
            words.push((from, unit.get(from..at).unwrap_or_default(), divides));
        }
        match c {
            '*' => divides = false,
            '/' => divides = true,
            _ => {}
        }
    }
    words
}

/// The class of a unit: binary if bytes are a factor of it.
pub fn class(unit: &str) -> Class {
    let bytes = |(_, word, divides): &(usize, &str, bool)| !divides && matches!(*word, "B" | "MB" | "bytes");
    if words(unit).iter().any(bytes) { Class::Binary } else { Class::Decimal }
}

/// `value` `unit` in base units.
pub fn tidy(value: f64, unit: &str) -> (f64, String) {
    // Upstream's constants, which a product of several factors would round differently.
    match unit {
        "ns/op" => return (value * 1e-9, "sec/op".to_owned()),
        "MB/s" => return (value * 1e6, "B/s".to_owned()),
        _ => {}
    }
    let (mut factor, mut tidied, mut until) = (1.0, String::new(), 0);
    for (at, word, _) in words(unit).into_iter().filter(|(_, _, divides)| !divides) {
        let (base, by) = match word {
            "ns" => ("sec", 1.0 / 1e9),
            "MB" => ("B", 1e6),
            _ => continue,
        };
        factor *= by;
        tidied.push_str(unit.get(until..at).unwrap_or_default());
        tidied.push_str(base);
        until = at + word.len();
    }
    tidied.push_str(unit.get(until..).unwrap_or_default());
    (value * factor, tidied)
}

/// How to print the values of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    digits: usize,
    factor: f64,
    prefix: &'static str,
}

impl Scale {
    /// A value in base units, scaled, with its prefix.
    pub fn format(&self, value: f64) -> String {
        format!("{:.*}{}", self.digits, value / self.factor, self.prefix)
    }
}

/// Prefixes with their exponents of 10, and of 2.
const DECIMAL: [(&str, i32); 8] =
    [("T", 12), ("G", 9), ("M", 6), ("k", 3), ("", 0), ("m", -3), ("µ", -6), ("n", -9)];
const BINARY: [(&str, i32); 5] = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10), ("", 0)];

/// The scale that `values` have in common: four significant digits of the one nearest to 0.
pub fn common_scale(values: &[f64], class: Class) -> Scale {
    let sizes = values.iter().map(|value| value.abs()).filter(|size| *size > 0.0);
    let least = sizes.fold(f64::INFINITY, f64::min);
    if least.is_infinite() {
        return Scale { digits: 3, factor: 1.0, prefix: "" };
    }
    // Where printing rounds up to the next power of ten: read, not computed, so that it is that very number.
    let threshold = |text: &str, exponent: i32| match class {
        Class::Decimal => format!("{text}e{exponent}").parse().unwrap_or(f64::INFINITY),
        Class::Binary => text.parse().unwrap_or(f64::INFINITY) * libm::exp2(f64::from(exponent)),
    };
    let factor = |exponent: i32| match class {
        Class::Decimal => format!("1e{exponent}").parse().unwrap_or(f64::NAN),
        Class::Binary => libm::exp2(f64::from(exponent)),
    };
    let prefixes: &[(&'static str, i32)] = match class {
        Class::Decimal => &DECIMAL,
        Class::Binary => &BINARY,
    };
    for &(prefix, exponent) in prefixes {
        for (text, digits) in [("99.995", 1), ("9.9995", 2), (".99995", 3)] {
            if least >= threshold(text, exponent) {
                return Scale { digits, factor: factor(exponent), prefix };
            }
        }
    }
    // Below the smallest prefix more digits follow the point, up to ten.
    let (prefix, exponent) = prefixes.last().copied().unwrap_or(("", 0));
    let rest = least / factor(exponent);
    let more = (1..8).find(|more| rest >= format!("9.9995e-{more}").parse().unwrap_or(f64::INFINITY));
    Scale { digits: more.map_or(10, |more| more + 2), factor: factor(exponent), prefix }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_become_base_units_where_they_multiply() {
        let unit = |unit: &str| tidy(1.0, unit).1;
        assert_eq!(tidy(5.0, "ns/op"), (5.0 * 1e-9, "sec/op".to_owned()));
        assert_eq!((unit("MB*ns/op"), unit("op/ns")), ("B*sec/op".to_owned(), "op/ns".to_owned()));
        assert_eq!((unit("p99-ns"), unit("allocs/op")), ("p99-sec".to_owned(), "allocs/op".to_owned()));
        assert_eq!(
            (class("B/s"), class("text-bytes"), class("x/B")),
            (Class::Binary, Class::Binary, Class::Decimal)
        );
    }

    #[test]
    fn a_row_has_the_scale_of_its_smallest_value() {
        let scale = common_scale(&[1073e-9, 44.4e-9], Class::Decimal);
        assert_eq!(
            (scale.format(1073e-9), scale.format(44.4e-9)),
            ("1073.00n".to_owned(), "44.40n".to_owned())
        );
        assert_eq!(common_scale(&[], Class::Binary).format(0.0), "0.000");
    }
}

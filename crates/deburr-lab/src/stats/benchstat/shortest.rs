//! Numbers as Go prints them with `%v`.
//!
//! The fewest digits that read back as the same number, with an exponent below 1e-4 and from 1e6. Rust finds
//! the same digits, but begins the exponent elsewhere.

/// `value` as Go's `fmt.Sprint` has it.
pub fn shortest(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    // Rust's shortest digits are the same; only where the exponent begins differs.
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific };
    if value == 0.0 || (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_begin_where_go_has_them() {
        let cases = [
            (1.718e-6, "1.718e-06"),
            (1e-4, "0.0001"),
            (123456.5, "123456.5"),
            (343_400_000.0, "3.434e+08"),
            (1e100, "1e+100"),
            (0.95, "0.95"),
            (-3.0, "-3"),
            (0.0, "0"),
            (f64::INFINITY, "+Inf"),
        ];
        for (value, text) in cases {
            assert_eq!(shortest(value), text);
        }
    }
}

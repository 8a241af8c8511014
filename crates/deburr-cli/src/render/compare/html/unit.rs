//! The unit of an axis, so that its numbers are short.

use crate::render::compare::quantity::scale;

/// The unit of an axis whose values reach up to `largest`, and how much of `unit` it is. Other units than
/// those of time and memory get powers of a thousand where the numbers would be long.
pub(super) fn unit_of_axis(largest: f64, unit: &str) -> (f64, String) {
    let (step, name) = scale(largest, unit);
    let power = largest.log10();
    if matches!(unit, "s" | "B") || !power.is_finite() || (-2.0..6.0).contains(&power) {
        return (step, name.to_owned());
    }
    let thousands = (power / 3.0).floor() as i32 * 3;
    let digit = |digit: char| match digit.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    };
    let raised: String = thousands.to_string().chars().map(digit).collect();
    (10f64.powi(thousands), format!("10{raised} {name}").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_unit_in_which_its_numbers_are_short() {
        assert_eq!(unit_of_axis(0.25, "s"), (1e-3, "ms".to_owned()));
        assert_eq!(unit_of_axis(8e7, "1/s"), (1e6, "10⁶ 1/s".to_owned()));
        assert_eq!(unit_of_axis(8000.0, ""), (1.0, String::new()));
        assert_eq!(unit_of_axis(0.0, ""), (1.0, String::new()));
    }
}

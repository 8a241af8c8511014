//! Mean, standard deviation, median and lag-1 autocorrelation of a sample.
//!
//! In: values in any unit; for the autocorrelation, in run order. Out: numbers in that unit, NaN where a
//! sample is too small. No value is checked for being finite: callers do that.

/// Arithmetic mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let mut mean = 0.0;
    for (count, value) in values.iter().enumerate() {
        // Running, so that the sum of huge values cannot overflow.
        mean += (value - mean) / (count + 1) as f64;
    }
    mean
}

/// Sample standard deviation, with n − 1; NaN of fewer than two values. Exactly 0 when all values are equal.
pub fn standard_deviation(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 2 {
        return f64::NAN;
    }
    if all_equal(values) {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    libm::sqrt(squares / (n - 1) as f64)
}

/// Whether all values are the same; true of nothing.
pub fn all_equal(values: &[f64]) -> bool {
    values.iter().zip(values.iter().skip(1)).all(|(one, next)| one == next)
}

/// Middle value, or the mean of the middle two; NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN);
    if sorted.len() % 2 == 1 {
        return upper;
    }
    let lower = sorted.get((sorted.len() / 2).saturating_sub(1)).copied().unwrap_or(f64::NAN);
    lower / 2.0 + upper / 2.0
}

/// Lag-1 autocorrelation, Σ(dᵢ − d̄)(dᵢ₊₁ − d̄) / Σ(dᵢ − d̄)²; 0 where all values are equal.
pub fn autocorrelation(values: &[f64]) -> f64 {
    if values.len() < 2 || all_equal(values) {
        return 0.0;
    }
    let mean = mean(values);
    let products: f64 =
        values.iter().zip(values.iter().skip(1)).map(|(one, next)| (one - mean) * (next - mean)).sum();
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

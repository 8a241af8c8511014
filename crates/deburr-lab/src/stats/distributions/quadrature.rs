//! Adaptive quadrature: Gauss and Kronrod's pair of 7 and 15 points, always halving the part with the largest
//! error estimate.
//!
//! Where an integrand has a step or a peak, the caller names it as a break: an estimate cannot see what no
//! point falls on. Nodes and weights: Piessens et al., QUADPACK (1983), rule QK15.

const NODES: [f64; 8] = [
    0.991_455_371_120_812_6,
    0.949_107_912_342_758_5,
    0.864_864_423_359_769_1,
    0.741_531_185_599_394_4,
    0.586_087_235_467_691_1,
    0.405_845_151_377_397_2,
    0.207_784_955_007_898_47,
    0.0,
];
const KRONROD: [f64; 8] = [
    0.022_935_322_010_529_224,
    0.063_092_092_629_978_55,
    0.104_790_010_322_250_18,
    0.140_653_259_715_525_92,
    0.169_004_726_639_267_9,
    0.190_350_578_064_785_4,
    0.204_432_940_075_298_9,
    0.209_482_141_084_727_82,
];
/// For the odd nodes and the centre: those of Gauss.
const GAUSS: [f64; 4] =
    [0.129_484_966_168_869_7, 0.279_705_391_489_276_64, 0.381_830_050_505_118_9, 0.417_959_183_673_469_4];

/// At most so many parts; then the sum is as good as it gets.
const PARTS: usize = 400;

struct Part {
    from: f64,
    to: f64,
    value: f64,
    error: f64,
}

fn part(f: &mut impl FnMut(f64) -> f64, from: f64, to: f64) -> Part {
    let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
    let (mut kronrod, mut gauss) = (0.0, 0.0);
    for (index, (node, weight)) in NODES.iter().zip(KRONROD).enumerate() {
        let sum = if *node == 0.0 { f(centre) } else { f(centre - half * node) + f(centre + half * node) };
        kronrod += weight * sum;
        if index % 2 == 1 {
            gauss += GAUSS.get(index / 2).copied().unwrap_or(0.0) * sum;
        }
    }
    Part { from, to, value: kronrod * half, error: ((kronrod - gauss) * half).abs() }
}

/// ∫ f over the range that `breaks` span, cut at each of them; they need no order. NaN if f is NaN somewhere.
///
/// `relative` bounds the estimated error, which for a smooth f is many times the real one.
pub fn integrate(mut f: impl FnMut(f64) -> f64, breaks: &[f64], relative: f64) -> f64 {
    let mut sorted = breaks.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let mut parts: Vec<Part> = Vec::new();
    for (from, to) in sorted.iter().zip(sorted.iter().skip(1)) {
        parts.push(part(&mut f, *from, *to));
    }
    while parts.len() < PARTS {
        let value: f64 = parts.iter().map(|part| part.value).sum();
        let error: f64 = parts.iter().map(|part| part.error).sum();
        if error.is_nan() || error <= relative * value.abs() || error < 1e-300 {
            break;
        }
        let worst = parts.iter().enumerate().max_by(|one, other| one.1.error.total_cmp(&other.1.error));
        let Some(worst) = worst.map(|(index, _)| index) else { break };
        let cut = parts.swap_remove(worst);
        let middle = 0.5 * (cut.from + cut.to);
        if middle <= cut.from || middle >= cut.to {
            // No number is between: what is left of the error is rounding.
            parts.push(Part { error: 0.0, ..cut });
            continue;
        }
        parts.push(part(&mut f, cut.from, middle));
        parts.push(part(&mut f, middle, cut.to));
    }
    // Small parts first.
    parts.sort_by(|one, other| one.value.abs().total_cmp(&other.value.abs()));
    parts.iter().map(|part| part.value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_steps_and_poles_are_integrated() {
        assert!((integrate(|x| x.powi(10), &[0.0, 1.0], 1e-12) - 1.0 / 11.0).abs() < 1e-15);
        assert!((integrate(|x| f64::from(x > 0.3), &[1.0, 0.3, 0.0], 1e-12) - 0.7).abs() < 1e-15);
        assert!((integrate(|x| f64::from(x > 0.3), &[0.0, 1.0], 1e-12) - 0.7).abs() < 1e-12);
        assert!((integrate(|x: f64| 1.0 / x.sqrt(), &[0.0, 1.0], 1e-10) - 2.0).abs() < 1e-8);
        assert!(integrate(|_| f64::NAN, &[0.0, 1.0], 1e-10).is_nan());
        assert_eq!(integrate(|_| 1.0, &[], 1e-10), 0.0);
    }
}

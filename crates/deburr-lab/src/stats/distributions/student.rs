//! Student's t distribution with any number of degrees of freedom, fractions included (an effective number of
//! pairs is one).
//!
//! Own, upon `libm`: the crates at hand reach some 1e-10 only near the centre, and the sums here need the far
//! tails to full relative accuracy. The tail is half of the regularized incomplete beta function I_x(ν/2, ½),
//! x = ν/(ν + t²), by its continued fraction (Abramowitz & Stegun 26.5.8 and 26.7.1) in Lentz's form.

use super::normal;
use std::f64::consts::PI;

/// From so many degrees of freedom on the continued fraction would take too long, and Peizer and Pratt's
/// normal approximation (JASA 63 (1968), 1416) is good to 3e-9 of a tail at six deviations.
const NEARLY_NORMAL: f64 = 1e5;

/// Γ(a + ½)/Γ(a), by logarithms while they have the digits, by the quotient's own series (A&S 6.1.49) when
/// they have not.
fn gamma_step(a: f64) -> f64 {
    if a < 100.0 {
        return libm::exp(libm::lgamma(a + 0.5) - libm::lgamma(a));
    }
    let r = 1.0 / a;
    let series = 1.0
        + r * (-0.125
            + r * (1.0 / 128.0 + r * (5.0 / 1024.0 + r * (-21.0 / 32768.0 - r * 399.0 / 262_144.0))));
    libm::sqrt(a) * series
}

/// The density's factor that does not depend on t: Γ((ν+1)/2) / (Γ(ν/2) √(νπ)).
pub(crate) fn density_factor(nu: f64) -> f64 {
    gamma_step(nu / 2.0) / libm::sqrt(nu * PI)
}

/// Density at `t` with `nu` > 0 degrees of freedom.
pub fn density(t: f64, nu: f64) -> f64 {
    density_factor(nu) * libm::exp(-0.5 * (nu + 1.0) * libm::log1p(t * t / nu))
}

/// P(T ≤ t) with `nu` > 0 degrees of freedom.
pub fn cdf(t: f64, nu: f64) -> f64 {
    survival(-t, nu)
}

/// P(T > t) with `nu` > 0 degrees of freedom; NaN for NaN or `nu` ≤ 0.
pub fn survival(t: f64, nu: f64) -> f64 {
    if t.is_nan() || nu.is_nan() || nu <= 0.0 {
        return f64::NAN;
    }
    if nu >= NEARLY_NORMAL {
        let z = (nu - 2.0 / 3.0 + 0.1 / nu) * libm::sqrt(libm::log1p(t * t / nu) / (nu - 5.0 / 6.0));
        return normal::survival(if t < 0.0 { -z } else { z });
    }
    let tail = upper_tail(t.abs(), nu);
    if t >= 0.0 { tail } else { 1.0 - tail }
}

/// P(T > t) for t ≥ 0.
fn upper_tail(t: f64, nu: f64) -> f64 {
    if t == 0.0 {
        return 0.5;
    }
    let (a, b) = (nu / 2.0, 0.5);
    let r = t / libm::sqrt(nu);
    // x + y = 1, each from what keeps its digits.
    let (ln_x, ln_y, x, y) = if r < 1.0 {
        let s = r * r;
        (-libm::log1p(s), 2.0 * libm::log(r) - libm::log1p(s), 1.0 / (1.0 + s), s / (1.0 + s))
    } else {
        let s = (1.0 / r) * (1.0 / r);
        (-2.0 * libm::log(r) - libm::log1p(s), -libm::log1p(s), s / (1.0 + s), 1.0 / (1.0 + s))
    };
    // 1/B(a, ½) = Γ(a + ½)/(Γ(a) √π).
    let front = libm::exp(a * ln_x + b * ln_y) * gamma_step(a) / libm::sqrt(PI);
    if x < (a + 1.0) / (a + b + 2.0) {
        0.5 * front * fraction(a, b, x) / a
    } else {
        0.5 - 0.5 * front * fraction(b, a, y) / b
    }
}

/// The continued fraction of I_x(a, b), for x < (a + 1)/(a + b + 2), where it converges within some √max(a,
/// b) terms.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    h
}

/// The t with P(T ≤ t) = `p`; ∓∞ at 0 and 1, NaN outside or for `nu` ≤ 0.
pub fn quantile(p: f64, nu: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) || nu.is_nan() || nu <= 0.0 {
        return f64::NAN;
    }
    if p > 0.5 {
        return -quantile(1.0 - p, nu);
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p == 0.5 {
        return 0.0;
    }
    // Mirrored: t > 0 with an upper tail of p. Bracketed, then Newton's steps where they stay inside.
    let (mut low, mut high) = (0.0, 1.0);
    while survival(high, nu) > p && high < 1e300 {
        low = high;
        high *= 4.0;
    }
    let mut t = 0.5 * (low + high);
    for _ in 0..200 {
        let excess = survival(t, nu) - p;
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let newton = t + excess / density(t, nu);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - t).abs() <= 1e-15 * t {
            t = next;
            break;
        }
        t = next;
    }
    -t
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-11, "{value} is not {expected}");
    }

    #[test]
    fn one_and_two_degrees_of_freedom_have_their_closed_forms() {
        for t in [1e-8, 0.1, 0.9, 1.0, 1.1, 3.0, 40.0, 1e6, 1e160] {
            close(survival(t, 1.0), libm::atan(1.0 / t) / PI);
            // S = 1 / (w (w + t)) with w = √(2 + t²).
            let w = libm::hypot(2f64.sqrt(), t);
            if t < 1e100 {
                close(survival(t, 2.0), 1.0 / (w * (w + t)));
            }
            close(survival(-t, 2.0) + survival(t, 2.0), 1.0);
        }
    }

    #[test]
    fn many_degrees_of_freedom_are_the_normal_distribution() {
        for t in [-3.0, 0.0, 0.5, 2.0, 6.0] {
            assert!((survival(t, 1e12) / normal::survival(t) - 1.0).abs() < 1e-9);
            let (below, from) = (survival(t, NEARLY_NORMAL - 1e-6), survival(t, NEARLY_NORMAL));
            assert!((below / from - 1.0).abs() < 4e-9, "{t}: {below} {from}");
        }
        // Both sides of where the quotient of gamma functions changes its form.
        close(gamma_step(100.0 - 1e-9), gamma_step(100.0));
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        close(quantile(0.975, 1.0), 12.706_204_736_174_7);
        for (p, nu, table) in [(0.975, 9.0, 2.2622), (0.95, 14.0, 1.7613), (0.995, 39.0, 2.7079)] {
            assert!((quantile(p, nu) - table).abs() < 5e-5);
        }
        for (p, nu) in [(1e-10, 1.0), (1e-10, 2.5), (0.01, 39.0), (0.4999, 3.0)] {
            close(cdf(quantile(p, nu), nu), p);
        }
        assert!(quantile(0.3, -1.0).is_nan() && survival(f64::NAN, 3.0).is_nan());
        assert_eq!((survival(f64::INFINITY, 3.0), survival(f64::NEG_INFINITY, 3.0)), (0.0, 1.0));
    }
}

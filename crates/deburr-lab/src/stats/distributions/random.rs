//! Random numbers that a recorded seed gives again on any machine: xoshiro256++ 1.0, seeded by SplitMix64.
//!
//! Own, as the generators of a crate may change between its versions, and a record must stay reproducible.
//! Blackman & Vigna, Scrambled linear pseudorandom number generators, ACM TOMS 47 (2021); both generators are
//! in the public domain.

/// A generator of pseudo-random numbers. Not for secrets.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
    spare: Option<f64>,
}

impl Random {
    /// The stream that belongs to `seed`.
    pub fn new(seed: u64) -> Random {
        let mut split = seed;
        let mut word = || {
            split = split.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (split ^ (split >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Random { state: [word(), word(), word(), word()], spare: None }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let result = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        let (s2, s3) = (s2 ^ s0, s3 ^ s1);
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17), s3.rotate_left(45)];
        result
    }

    /// Uniform between 0 and 1, both excluded.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }

    /// Standard normal, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let scale = libm::sqrt(-2.0 * libm::log(s) / s);
                self.spare = Some(v * scale);
                return u * scale;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_known_state_is_the_published_one() {
        // The first numbers of xoshiro256++ from the state 1, 2, 3, 4, as its authors' C code gives them.
        let mut random = Random { state: [1, 2, 3, 4], spare: None };
        assert_eq!([random.bits(), random.bits(), random.bits()], [41943041, 58720359, 3588806011781223]);
    }

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let mut random = Random::new(7);
        let draws: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|draw| draw * draw).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }
}

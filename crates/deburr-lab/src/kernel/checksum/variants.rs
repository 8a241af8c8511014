//! The variants of the checksum, for whatever pages a kernel has.

/// Variants, given `fn() -> &'static Pieces<Page>`.
#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($pages:path) => {{
        use crate::kernel::checksum::{compiled, vector};
        use crate::kernel::data::function::function;
        use deburr_cpu::Feature;
        const V3: &[Feature] = &[
            Feature::AVX2,
            Feature::BMI1,
            Feature::BMI2,
            Feature::F16C,
            Feature::FMA,
            Feature::LZCNT,
            Feature::MOVBE,
        ];
        const V4: &[Feature] = &[
            Feature::AVX2,
            Feature::BMI1,
            Feature::BMI2,
            Feature::F16C,
            Feature::FMA,
            Feature::LZCNT,
            Feature::MOVBE,
            Feature::AVX512F,
            Feature::AVX512BW,
            Feature::AVX512CD,
            Feature::AVX512DQ,
            Feature::AVX512VL,
        ];
        &[
            function!("x86-64-v1, compiled", &[], $pages, compiled::first_level),
            function!("no vectors", &[], $pages, compiled::scalar),
            function!("SSE4.1, compiled", &[Feature::SSE4_1], $pages, compiled::sse4_1),
            function!("x86-64-v3, compiled", V3, $pages, compiled::avx2),
            function!("x86-64-v4, compiled", V4, $pages, compiled::avx512),
            function!("AVX2 by hand", &[Feature::AVX2], $pages, vector::avx2::one),
            function!("AVX-512 by hand", &[Feature::AVX512F], $pages, vector::avx512::one),
            function!(
                "AVX2 by hand, 4 pages at a time",
                &[Feature::AVX2],
                $pages,
                vector::avx2::one,
                vector::avx2::four
            ),
            function!(
                "AVX-512 by hand, 4 pages at a time",
                &[Feature::AVX512F],
                $pages,
                vector::avx512::one,
                vector::avx512::four
            ),
        ]
    }};
}

/// Variants, given `fn() -> &'static Pieces<Page>`.
#[cfg(target_arch = "aarch64")]
macro_rules! variants {
    ($pages:path) => {{
        use crate::kernel::checksum::{compiled, sve, vector};
        use crate::kernel::data::function::function;
        &[
            function!("Advanced SIMD, compiled", &[], $pages, compiled::first_level),
            function!("no vectors", &[], $pages, compiled::scalar),
            function!("Advanced SIMD by hand", &[], $pages, vector::neon::one),
            function!(
                "Advanced SIMD by hand, 4 pages at a time",
                &[],
                $pages,
                vector::neon::one,
                vector::neon::four
            ),
            function!(
                "SVE by hand, 4 pages at a time",
                &[deburr_cpu::Feature::FEAT_SVE],
                $pages,
                vector::neon::one,
                sve::four
            ),
        ]
    }};
}

pub(super) use variants;
